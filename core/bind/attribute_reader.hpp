// Reads attributes out of Python objects, as CRFsuite's users write them, into an AttributeSource.
#pragma once

#include <memory>
#include <string>

#include "../text/sources.hpp"
#include "arrays.hpp"

namespace tw::bind {

// X: a sequence of sequences of tokens. A token is
//   a list, tuple or set of names, or of (name, number) pairs;
//   a dict: {"a": "b"} is the name "a:b"; {"a": 1.5} is "a" with that value; True is 1 and False 0; {"a": ["b", "c"]}
//   is "a:b" and "a:c"; dicts nest, {"a": {"b": "c"}} is "a:b:c".
// `where` and `first` name the place in errors: where[first + i][t]. An exception raised by an object of the caller's
// passes through.
std::unique_ptr<AttributeSource> read_attributes(nb::handle X, bool keep_names, const std::string& where,
                                                 std::size_t first, const std::string& channel);

}  // namespace tw::bind
