// Reads items out of Python objects exactly as python-crfsuite does.
#pragma once

#include <string>
#include <vector>

#include "../linear/crfsuite_rows.hpp"
#include "../linear/items.hpp"
#include "arrays.hpp"

namespace tw::bind {

// An item is
//   a dict: {"a": "b"} is the name "a:b"; {"a": 1.5} is "a" with that value; True is 1 and False 0; dicts, lists and
//   sets nest, {"a": {"b": ["c"]}} is "a:b:c";
//   anything else that has a length and can be iterated over: names, each with the value 1.
// Names are str or bytes. A str as an item is read letter by letter, with a warning. TypeError for all else; ValueError
// for values that are not finite.
void read_items(nb::handle sequence, linear::Items& out);
void read_items(nb::handle sequence, linear::KeyedItems& out);

// The bytes of a label, str or bytes; as in C, it ends at its first zero. Else TypeError.
std::string label_bytes(nb::handle label);
// Of all that an iterable has.
std::vector<std::string> texts_of(nb::handle labels);

}  // namespace tw::bind
