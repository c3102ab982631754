// Where attributes come from, as Python holds it.
#include "../features/attributes.hpp"
#include "arrays.hpp"

namespace tw::bind {

void bind_sources(nb::module_& m) {
    nb::class_<Source>(m, "Source", "Sequences of tokens whose attributes can be asked for.")
        .def_prop_ro("n_sequences", &Source::n_sequences)
        .def("length", [](const Source& source, std::size_t sequence) {
            require(sequence < source.n_sequences(), "there is no such sequence");
            return source.length(sequence);
        });
}

}  // namespace tw::bind
