// Branch and bound on what message passing left undecided.
//
//     labels that are left after passes     variables with one label are put into their factors; the rest falls apart
//        a  b  c  d  e  f  g                   {c d}   {f}     each a graph of its own, searched alone
//        1  1  2  3  1  2  1
//
//     a node is the labels that are left and what was given to factors; two children: a variable has a label, or has
//     it not. Depth first, the label first. The bound of a node is that of a few passes from what its parent gave.
#pragma once

#include "reweighted.hpp"

namespace tw::graphs {

struct Branched {
    double bound = 0.0;  // of all labellings that are left, the best one included
    std::size_t passes = 0;
};

// Goes on until the best labelling is proved, or `passes` are done, or the deadline. The dual must have passed with
// labels taken out. Not for graphs with structures.
Branched branch(const Layout& layout, const Reweighted& dual, Labelling& best, std::size_t passes,
                const Deadline& deadline);

// Large graphs are taken in blocks of variables that are near each other, each searched as above for `passes` at most.
// Given the labels of all others, its best labels cannot make a labelling worse (a neighbourhood of many variables):
void improve_by_blocks(const Layout& layout, Labelling& best, std::size_t size, std::size_t passes,
                       const Deadline& deadline);
// The best of each block, with what its variables did not give to factors between blocks, and the best of each of those
// factors with what it was given, add up to a bound. It is as tight inside the blocks as can be, where that of the
// relaxation is not.
double bound_by_blocks(const Layout& layout, const Reweighted& dual, const Labelling& best, std::size_t size,
                       std::size_t passes, const Deadline& deadline);

}  // namespace tw::graphs
