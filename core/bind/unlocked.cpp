#include "unlocked.hpp"

#include <atomic>

#include "arrays.hpp"

namespace tw::bind {
namespace {

// Ends work in threads that no signal reaches: the one who set them to work says so.
class Stop {
public:
    void set() { set_ = true; }
    bool is_set() const { return set_; }

private:
    std::atomic<bool> set_{false};
};

// Those that a thread works under, the innermost first.
struct Scope {
    const Stop* stop;
    Scope* outer;
};
thread_local Scope* scopes = nullptr;

void enter(const Stop& stop) { scopes = new Scope{&stop, scopes}; }

void leave() {
    if (scopes == nullptr) return;
    Scope* const left = scopes;
    scopes = left->outer;
    delete left;
}

bool any_set() {
    for (const Scope* scope = scopes; scope != nullptr; scope = scope->outer)
        if (scope->stop->is_set()) return true;
    return false;
}

}  // namespace

bool run_signal_handlers() {
    const nb::gil_scoped_acquire locked;
    const nb::module_ threading = nb::module_::import_("threading");
    const bool main = threading.attr("main_thread")().attr("ident").equal(threading.attr("get_ident")());
    if (main && PyErr_CheckSignals() != 0) nb::raise_python_error();
    if (any_set()) {
        PyErr_SetNone(PyExc_KeyboardInterrupt);
        nb::raise_python_error();
    }
    return main || scopes != nullptr;
}

void bind_unlocked(nb::module_& m) {
    nb::class_<Stop>(m, "Stop", "Lets what the core does in a `with` block, in any thread, end by KeyboardInterrupt.")
        .def(nb::init<>())
        .def("set", &Stop::set)
        .def_prop_ro("is_set", &Stop::is_set)
        .def("__enter__", &enter)
        .def(
            "__exit__", [](const Stop&, nb::handle, nb::handle, nb::handle) { leave(); }, nb::arg("type").none(),
            nb::arg("value").none(), nb::arg("traceback").none());
}

}  // namespace tw::bind
