// Better labellings from one that is there: single labels, and whole forests of variables at once.
//
//     o---.---o---o        o  in the forest: a set of variables no two of which are joined twice, picked at random
//     |       |            .  keeps its label
//     o---o   o---.        all o together get their best labels given those of all . by one pass up and one down
//     .   |   |   |
//     o---o---.---o        (Hamze & de Freitas 2004 sample so); it covers about two thirds of a grid
#pragma once

#include <cstdint>
#include <random>

#include "layout.hpp"

namespace tw::graphs {

struct Labelling {
    std::vector<std::uint32_t> labels;  // empty: none
    double score = kLogZero;
};

// Changes one label at a time as long as that helps (iterated conditional modes, Besag 1986). Variables in structures
// stay, here and below.
void improve(const Layout& layout, Labelling& labelling);

// Forests at random, `most` of them, until thirty in a row gained next to nothing, or the deadline.
void improve_by_forests(const Layout& layout, Labelling& labelling, std::size_t most, const Deadline& deadline);

}  // namespace tw::graphs
