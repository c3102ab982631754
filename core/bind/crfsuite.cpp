// CRFsuite's items, training sets and model files, as the drop-in for python-crfsuite uses them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <chrono>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "../chain/crfsuite_tagger.hpp"
#include "../linear/item_corpus.hpp"
#include "arrays.hpp"
#include "buffers.hpp"
#include "item_reader.hpp"

namespace tw::bind {
namespace {

using linear::CrfsuiteContents;
using linear::CrfsuiteCounts;
using linear::CrfsuiteFile;
using linear::ItemCorpus;
using linear::Items;

nb::object as_bytes(std::string_view text) {
    nb::object out = nb::steal(PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
    if (!out.is_valid()) nb::raise_python_error();
    return out;
}

nb::object as_text(std::string_view text, const char* errors) {
    nb::object out = nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), errors));
    if (!out.is_valid()) nb::raise_python_error();
    return out;
}

nb::list dicts_of(const Items& items) {
    nb::list out;
    for (std::size_t t = 0; t < items.size(); ++t) {
        nb::dict item;
        for (std::size_t i = items.items[t]; i < items.items[t + 1]; ++i)
            item[as_text(items.name(i), "strict")] = items.values[i];
        out.append(item);
    }
    return out;
}

// Items as they are, or read into `room`.
const Items& items_of(nb::handle sequence, Items& room) {
    Items* ready = nullptr;
    if (nb::try_cast<Items*>(sequence, ready, false) && ready) return *ready;
    room.clear();
    read_items(sequence, room);
    return room;
}

void require_lengths(std::size_t n_items, std::size_t n_labels) {
    if (n_items != n_labels)
        throw std::invalid_argument("there are " + std::to_string(n_items) + " items and " + std::to_string(n_labels) +
                                    " labels. Every item needs one label.");
}

class BoundTagger {
public:
    explicit BoundTagger(nb::handle data) : buffer_(data), tagger_(buffer_.bytes()) {
        for (std::size_t i = 0; i < file().labels().size(); ++i) {
            const std::string& name = file().labels()[i];
            PyObject* text = PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "strict");
            if (!text) {
                PyErr_Clear();
                throw std::invalid_argument("label " + std::to_string(i) + " of the model is not valid UTF-8");
            }
            labels_.append(nb::steal(text));
            numbers_.emplace(name, static_cast<std::int32_t>(i));
        }
    }

    void set(nb::handle sequence) {
        read(sequence, [] {});
    }
    nb::object best() {
        const Busy busy(*this);
        return names_of(tagger_.best());
    }
    nb::object tag(nb::handle sequence) {
        nb::object out;
        read(sequence, [&] { out = names_of(tagger_.best()); });
        return out;
    }
    double marginal(nb::handle label, std::int64_t position) {
        const Busy busy(*this);
        if (position < 0 || static_cast<std::size_t>(position) >= tagger_.length())
            throw std::invalid_argument("there is no position " + std::to_string(position) + " in a sequence of " +
                                        std::to_string(tagger_.length()) + " items");
        const std::size_t K = file().n_labels();
        return tagger_.marginals()[static_cast<std::size_t>(position) * K + static_cast<std::size_t>(number(label))];
    }
    nb::list marginals() {
        const Busy busy(*this);
        const std::span<const double> all = tagger_.marginals();
        nb::list out;
        const std::size_t K = file().n_labels();
        for (std::size_t t = 0; t < tagger_.length(); ++t) {
            nb::dict row;
            for (std::size_t i = 0; i < K; ++i) row[labels_[i]] = all[t * K + i];
            out.append(row);
        }
        return out;
    }
    double probability(nb::handle labels) {
        const std::vector<std::string> names = texts_of(labels);
        const Busy busy(*this);
        std::vector<std::int32_t> numbers;
        require_lengths(tagger_.length(), names.size());
        for (const std::string& name : names) numbers.push_back(number(name));
        return tagger_.probability(numbers);
    }
    nb::object labels() const {  // a list that the caller may change
        nb::object copy = nb::steal(PyList_GetSlice(labels_.ptr(), 0, PyList_Size(labels_.ptr())));
        if (!copy.is_valid()) nb::raise_python_error();
        return copy;
    }
    nb::object dump() const { return as_bytes(file().dump()); }
    const CrfsuiteFile& file() const { return tagger_.file(); }

    // Names of attributes, what is no UTF-8 with surrogates in its place; starts, labels and weights.
    nb::tuple weights() const {
        const CrfsuiteFile::Weights all = file().weights();
        nb::list names;
        for (std::size_t a = 0; a < file().n_attributes(); ++a)
            names.append(as_text(file().attribute(a), "surrogateescape"));
        return nb::make_tuple(names, to_numpy(all.starts, {all.starts.size()}),
                              to_numpy(all.labels, {all.labels.size()}), to_numpy(all.weights, {all.weights.size()}));
    }
    nb::list transitions() const {  // (from, to, weight) as the file lists them
        nb::list out;
        for (std::size_t i = 0; i < file().n_labels(); ++i)
            file().each_transition(
                i, [&](const CrfsuiteFile::Feature& f) { out.append(nb::make_tuple(i, f.target, f.weight)); });
        return out;
    }

private:
    // While the tagger works, Python may run: to see whether a signal came, and what is collected as garbage. Other
    // threads wait; what runs inside of the call must not use the tagger.
    class Busy {
    public:
        explicit Busy(BoundTagger& tagger) : tagger_(tagger) {
            if (tagger_.worker_ == std::this_thread::get_id())
                throw std::runtime_error("the tagger is at work: it cannot be used from inside its own call");
            while (tagger_.worker_ != std::thread::id()) {
                {
                    const nb::gil_scoped_release unlocked;
                    std::this_thread::sleep_for(std::chrono::microseconds(100));
                }
                if (PyErr_CheckSignals() != 0) nb::raise_python_error();
            }
            tagger_.worker_ = std::this_thread::get_id();
        }
        Busy(const Busy&) = delete;
        Busy& operator=(const Busy&) = delete;
        ~Busy() { tagger_.worker_ = std::thread::id(); }

    private:
        BoundTagger& tagger_;
    };

    // Sets a sequence and calls `then`. Objects are read into memory of this call, so that they, and other threads,
    // may use the tagger meanwhile.
    template <class Then>
    void read(nb::handle sequence, Then then) {
        Items* ready = nullptr;
        if (nb::try_cast<Items*>(sequence, ready, false) && ready)
            set_and(*ready, then);
        else if (tagger_.keyed())
            read_into(keyed_, sequence, then);
        else
            read_into(room_, sequence, then);
    }
    template <class Read, class Then>
    void read_into(Read& room, nb::handle sequence, Then then) {
        Read items = std::exchange(room, {});
        items.clear();
        read_items(sequence, items);
        set_and(items, then);
        room = std::move(items);  // to be filled again
    }
    template <class Read, class Then>
    void set_and(const Read& items, Then then) {
        const Busy busy(*this);
        tagger_.set(items);
        then();
    }
    nb::object names_of(std::span<const std::int32_t> best) const {
        nb::object out = nb::steal(PyList_New(static_cast<Py_ssize_t>(best.size())));
        if (!out.is_valid()) nb::raise_python_error();
        for (std::size_t t = 0; t < best.size(); ++t) {
            PyObject* label = PyList_GetItem(labels_.ptr(), best[t]);
            Py_IncRef(label);
            PyList_SetItem(out.ptr(), static_cast<Py_ssize_t>(t), label);
        }
        return out;
    }
    std::int32_t number(nb::handle label) const { return number(label_bytes(label)); }
    std::int32_t number(const std::string& name) const {
        const auto found = numbers_.find(name);
        if (found == numbers_.end()) throw std::runtime_error("the model has no label '" + name + "'");
        return found->second;
    }

    Buffer buffer_;
    chain::CrfsuiteTagger tagger_;
    Items room_;
    linear::KeyedItems keyed_;
    nb::list labels_;
    std::unordered_map<std::string, std::int32_t> numbers_;
    std::thread::id worker_;  // that uses the tagger, under the lock of Python
};

void append(ItemCorpus& corpus, nb::handle sequence, nb::handle labels, std::int64_t group) {
    Items room;
    const Items& items = items_of(sequence, room);
    const std::vector<std::string> names = texts_of(labels);
    require_lengths(items.size(), names.size());
    for (std::size_t i = 0; i < items.n_attributes(); ++i)
        if (std::abs(items.values[i]) > 3e38)
            throw std::invalid_argument("attribute '" + std::string(items.name(i)) +
                                        "' is too large to learn from; expected a number below 3e38");
    std::vector<std::uint32_t> numbers;
    for (const std::string& name : names) numbers.push_back(corpus.label_number(name));
    corpus.append(items, numbers, group);
}

using Numbers = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::tuple contents_bytes(const nb::list& labels, const nb::list& names, const Numbers& starts, const Numbers& codes,
                         const Vector& weights, const Vector& transitions) {
    CrfsuiteContents contents;
    contents.labels = texts_of(labels);
    const std::vector<std::string> attributes = texts_of(names);
    contents.attributes.assign(attributes.begin(), attributes.end());
    const std::size_t K = contents.labels.size(), n = starts.size();
    require(n == attributes.size() + 1 && starts.data()[0] == 0 && starts.data()[n - 1] == codes.size() &&
                std::is_sorted(starts.data(), starts.data() + n),
            "starts must rise from 0 to the number of weights, with one entry more than there are names");
    require(weights.size() == codes.size(), "codes and weights must have the same length");
    require(transitions.size() == K * K, "transitions must have one entry for each pair of labels");
    for (std::size_t i = 0; i < codes.size(); ++i) require(codes.data()[i] < K, "a code is out of range");
    contents.starts.assign(starts.data(), starts.data() + n);
    contents.codes.assign(codes.data(), codes.data() + codes.size());
    contents.weights.assign(weights.data(), weights.data() + weights.size());
    contents.transitions.assign(transitions.data(), transitions.data() + transitions.size());
    CrfsuiteCounts counts;
    std::string bytes;
    {
        const Unlocked unlocked;
        bytes = linear::crfsuite_bytes(contents, counts);
    }
    return nb::make_tuple(as_bytes(bytes), counts.features, counts.attributes);
}

}  // namespace

void bind_crfsuite(nb::module_& m) {
    nb::class_<Items>(m, "Items", "A sequence of items, read as python-crfsuite reads them.")
        .def(nb::init<>())
        .def(
            "__init__",
            [](Items* self, nb::handle sequence) {
                Items room;
                Items read(items_of(sequence, room));
                new (self) Items(std::move(read));
            },
            nb::arg("sequence"))
        .def("__len__", &Items::size)
        .def("dicts", &dicts_of, "A dict of values by name for each item.");

    nb::class_<ItemCorpus::Selection, Source>(m, "ItemSelection", "Some sequences of an ItemCorpus.")
        .def("labels", [](const ItemCorpus::Selection& self) {
            const std::vector<std::int32_t> labels = self.labels();
            return to_numpy(labels, {labels.size()});
        });
    nb::class_<ItemCorpus>(m, "ItemCorpus", "Sequences of items with labels, in groups.")
        .def(nb::init<>())
        .def("append", &append, nb::arg("sequence"), nb::arg("labels"), nb::arg("group") = 0)
        .def_prop_ro("n_sequences", &ItemCorpus::n_sequences)
        .def_prop_ro("n_attributes", &ItemCorpus::n_attributes)
        .def(
            "labels",
            [](const ItemCorpus& self) {
                nb::list out;
                for (const std::string& name : self.labels()) out.append(as_bytes(name));
                return out;
            },
            nb::sig("def labels(self) -> list[bytes]"), "In the order in which they were met.")
        .def(
            "features",
            [](const ItemCorpus& self, std::int64_t holdout, double min_frequency, bool states, bool transitions) {
                ItemCorpus::Features found;
                {
                    const Unlocked unlocked;
                    found = self.features({holdout, min_frequency, states, transitions});
                }
                std::vector<std::uint64_t> keys;
                std::vector<std::uint32_t> labels;
                for (const auto& [key, label] : found.of_zeros) {
                    keys.push_back(key);
                    labels.push_back(label);
                }
                return nb::make_tuple(found.count, to_numpy(found.has, {found.has.size()}),
                                      to_numpy(keys, {keys.size()}), to_numpy(labels, {labels.size()}));
            },
            nb::arg("holdout"), nb::arg("min_frequency"), nb::arg("states"), nb::arg("transitions"),
            "How many features CRFsuite makes of the sequences that are not held out, which attributes have some, and "
            "keys and labels of those whose values are all 0.")
        .def(
            "selection",
            [](const ItemCorpus& self, std::int64_t holdout, bool held,
               const std::optional<nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>& has) {
                require(!has || has->size() == self.n_attributes(), "has_features must have one entry per attribute");
                std::vector<std::uint8_t> flags;
                if (has) flags.assign(has->data(), has->data() + has->size());
                return self.selection(holdout, held, std::move(flags));
            },
            nb::arg("holdout"), nb::arg("held"), nb::arg("has_features") = nb::none(), nb::keep_alive<0, 1>(),
            "The sequences that are held out, or the others; nothing may be appended while it is in use.");

    nb::class_<BoundTagger>(m, "CrfsuiteTagger", "A model file of CRFsuite in memory that an object lends.")
        .def(nb::init<nb::handle>(), nb::arg("data"))
        .def("set", &BoundTagger::set, nb::arg("sequence"))
        .def("best", &BoundTagger::best, nb::sig("def best(self) -> list[str]"))
        .def("tag", &BoundTagger::tag, nb::arg("sequence"), nb::sig("def tag(self, sequence: object) -> list[str]"))
        .def("marginal", &BoundTagger::marginal, nb::arg("label"), nb::arg("position"))
        .def("marginals", &BoundTagger::marginals, nb::sig("def marginals(self) -> list[dict[str, float]]"))
        .def("probability", &BoundTagger::probability, nb::arg("labels"))
        .def("labels", &BoundTagger::labels, nb::sig("def labels(self) -> list[str]"))
        .def("dump", &BoundTagger::dump, nb::sig("def dump(self) -> bytes"))
        .def(
            "header", [](const BoundTagger& self) { return as_bytes(self.file().header()); },
            nb::sig("def header(self) -> bytes"))
        .def("weights", &BoundTagger::weights,
             nb::sig("def weights(self) -> tuple[list[str], NDArray[numpy.uint32], NDArray[numpy.uint32], "
                     "NDArray[numpy.float64]]"),
             "Names of attributes; where the weights of each begin; labels and weights.")
        .def("transitions", &BoundTagger::transitions,
             nb::sig("def transitions(self) -> list[tuple[int, int, float]]"));

    m.def("crfsuite_bytes", &contents_bytes, nb::arg("labels"), nb::arg("names"), nb::arg("starts"), nb::arg("codes"),
          nb::arg("weights"), nb::arg("transitions"),
          nb::sig("def crfsuite_bytes(labels: list, names: list, starts: NDArray[numpy.uint32], codes: "
                  "NDArray[numpy.uint32], weights: NDArray[numpy.float64], transitions: NDArray[numpy.float64]) -> "
                  "tuple[bytes, int, int]"),
          "A model file of CRFsuite, and how many features and attributes it has.");
}

}  // namespace tw::bind
