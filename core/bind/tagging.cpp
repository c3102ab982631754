// A trained model as Python holds it: its buffers are kept alive, whatever they are; no array library is needed.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>

#include "../base/checksum.hpp"
#include "../chain/column_tagger.hpp"
#include "../chain/tagger.hpp"
#include "arrays.hpp"
#include "buffers.hpp"

namespace tw::bind {
namespace {

using Keys = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Answer = nb::ndarray<nb::numpy, double>;

class BoundModel {
public:
    BoundModel(const nb::dict& tensors, std::size_t n_labels, unsigned hash_bits, const std::string& expand) {
        require(expand == "auto" || expand == "now" || expand == "never", "expand must be 'auto', 'now' or 'never'");
        held_.take(tensors);
        const Unlocked unlocked;
        model_.emplace(held_.views(), n_labels, hash_bits,
                       expand == "auto"  ? Expand::kWhenWorthwhile
                       : expand == "now" ? Expand::kNow
                                         : Expand::kNever);
    }

    const Model& model() const { return *model_; }

    nb::tuple scores(const Source& source, std::size_t n_jobs) const {
        const std::size_t n = source.n_sites(), K = model_->n_labels();
        auto unary = std::make_unique_for_overwrite<double[]>(n * K);
        const std::size_t n_moves = model_->pairs() ? n * K * K : 0;
        auto moves = std::make_unique_for_overwrite<double[]>(n_moves);
        {
            const Unlocked unlocked;
            chain::scores(*model_, source, n_jobs, unary.get(), moves.get());
        }
        if (!model_->pairs()) return nb::make_tuple(to_numpy(std::move(unary), {n, K}), transitions());
        return nb::make_tuple(to_numpy(std::move(unary), {n, K}), to_numpy(std::move(moves), {n, K, K}));
    }

    nb::ndarray<nb::numpy, std::int32_t> argmax(const Source& source, std::size_t n_jobs,
                                                std::optional<std::size_t> beam) const {
        const std::size_t n = source.n_sites();
        auto labels = std::make_unique_for_overwrite<std::int32_t[]>(n);
        {
            const Unlocked unlocked;
            chain::argmax(*model_, source, width_of(beam), n_jobs, labels.get());
        }
        return to_numpy(std::move(labels), {n});
    }

    Answer marginals(const Source& source, std::size_t n_jobs) const {
        const std::size_t n = source.n_sites(), K = model_->n_labels();
        auto out = std::make_unique_for_overwrite<double[]>(n * K);
        {
            const Unlocked unlocked;
            chain::marginals(*model_, source, n_jobs, out.get());
        }
        return to_numpy(std::move(out), {n, K});
    }

    std::pair<std::size_t, std::size_t> known(const Source& source, std::size_t n_jobs) const {
        const Unlocked unlocked;
        const chain::Known count = chain::known(*model_, source, n_jobs);
        return {count.known, count.all};
    }

    nb::tuple contributions(const Source& source, std::size_t sequence, const std::string& channel) const {
        require(sequence < source.n_sequences(), "there is no such sequence");
        std::vector<std::int64_t> tokens, places, numbers;
        std::vector<std::int32_t> labels;
        std::vector<double> values;
        for (const chain::Contribution& c : chain::contributions(*model_, source, sequence, channel)) {
            tokens.push_back(c.token);
            places.push_back(c.place);
            numbers.push_back(c.number);
            labels.push_back(c.label);
            values.push_back(c.value);
        }
        const std::size_t n = values.size();
        return nb::make_tuple(to_numpy(tokens, {n}), to_numpy(places, {n}), to_numpy(numbers, {n}),
                              to_numpy(labels, {n}), to_numpy(values, {n}));
    }

    nb::bytes tag_columns(nb::object data, const Extractor& extractor, const std::vector<std::string>& labels,
                          std::optional<std::string> separator, std::optional<std::string> comments, bool keep_docstart,
                          const std::string& name, std::size_t first_line, const std::string& output,
                          std::size_t n_jobs, std::optional<std::size_t> beam) const {
        require(output == "labels" || output == "marginals", "output must be 'labels' or 'marginals'");
        const Buffer buffer(data);
        chain::TagOptions options;
        options.format = {std::move(separator), std::move(comments), keep_docstart, name, first_line, 0};
        options.marginals = output == "marginals";
        options.beam = width_of(beam);
        require(!options.marginals || !beam, "a beam finds no marginals");
        options.n_jobs = n_jobs;
        const std::shared_ptr<const Extractor> held = shared(extractor);
        std::vector<chain::Piece> pieces;
        {
            const Unlocked unlocked;
            pieces = chain::tag_columns(*model_, held, buffer.bytes(), labels, options);
        }
        std::size_t size = 0;
        for (const chain::Piece& piece : pieces) size += piece.size;
        PyObject* out = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size));
        if (!out) throw nb::python_error();
        char* at = PyBytes_AsString(out);
        for (const chain::Piece& piece : pieces) at = std::copy_n(piece.text.get(), piece.size, at);
        return nb::steal<nb::bytes>(out);
    }

    nb::object name(std::size_t number, const std::string& channel) const {
        const WeightRows* rows = model_->rows(channel);
        if (!rows) throw std::invalid_argument("the model has no channel of attributes " + channel);
        require(number < rows->n_attributes(), "there is no such attribute");
        const std::string_view text = rows->name(number);
        if (text.data() == nullptr) return nb::none();
        PyObject* name = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
        if (!name) throw nb::python_error();
        return nb::steal(name);
    }

    Answer transitions() const {
        const std::size_t K = model_->n_labels();
        return to_numpy(std::vector<double>(model_->transitions().begin(), model_->transitions().end()), {K, K});
    }
    Answer start() const {
        return to_numpy(std::vector<double>(model_->start().begin(), model_->start().end()), {model_->n_labels()});
    }
    Answer end() const {
        return to_numpy(std::vector<double>(model_->end().begin(), model_->end().end()), {model_->n_labels()});
    }

private:
    HeldTensors held_;
    std::optional<Model> model_;
};

nb::tuple key_table(const Keys& keys) {
    require(keys.size() < (std::size_t{1} << 31), "too many attributes");
    const std::size_t capacity = table_capacity(keys.size());
    auto table_keys = std::make_unique_for_overwrite<Key[]>(capacity);
    auto slots = std::make_unique_for_overwrite<std::uint32_t[]>(capacity);
    fill_table({keys.data(), keys.size()}, {table_keys.get(), capacity}, {slots.get(), capacity});
    return nb::make_tuple(to_numpy(std::move(table_keys), {capacity}), to_numpy(std::move(slots), {capacity}));
}

}  // namespace

void bind_tagging(nb::module_& m) {
    m.def(
        "checksum",
        [](nb::object data) {
            const Buffer buffer(data);
            const Unlocked unlocked;
            return checksum(buffer.bytes());
        },
        nb::arg("data"), "64 bits that change when the bytes do; part of the model file's format.");
    m.def(
        "hash_bytes", [](nb::bytes text, Key seed) { return hash_bytes({text.c_str(), text.size()}, seed); },
        nb::arg("text"), nb::arg("seed") = 0, "The key of a string.");
    m.def("key_table", key_table, nb::arg("keys"), "Keys and slots of the table in which attribute i has keys[i].");

    nb::class_<BoundModel>(m, "Model", "A trained model: immutable, usable from many threads at once.")
        .def(nb::init<const nb::dict&, std::size_t, unsigned, const std::string&>(), nb::arg("tensors"),
             nb::arg("n_labels"), nb::arg("hash_bits") = 0, nb::arg("expand") = "auto")
        .def_prop_ro("n_labels", [](const BoundModel& self) { return self.model().n_labels(); })
        .def_prop_ro("n_attributes", [](const BoundModel& self) { return self.model().labels().n_attributes(); })
        .def_prop_ro("n_weights", [](const BoundModel& self) { return self.model().labels().n_weights(); })
        .def_prop_ro("has_pairs", [](const BoundModel& self) { return self.model().pairs() != nullptr; })
        .def_prop_ro("transitions", &BoundModel::transitions, nb::rv_policy::move)
        .def_prop_ro("start", &BoundModel::start, nb::rv_policy::move)
        .def_prop_ro("end", &BoundModel::end, nb::rv_policy::move)
        .def("scores", &BoundModel::scores, nb::arg("source"), nb::arg("n_jobs") = 1)
        .def("argmax", &BoundModel::argmax, nb::arg("source"), nb::arg("n_jobs") = 1, nb::arg("beam") = nb::none())
        .def("marginals", &BoundModel::marginals, nb::arg("source"), nb::arg("n_jobs") = 1)
        .def("known", &BoundModel::known, nb::arg("source"), nb::arg("n_jobs") = 1)
        .def("contributions", &BoundModel::contributions, nb::arg("source"), nb::arg("sequence"),
             nb::arg("channel") = "token")
        .def("tag_columns", &BoundModel::tag_columns, nb::arg("data"), nb::arg("extractor"), nb::arg("labels"),
             nb::arg("separator") = nb::none(), nb::arg("comments") = nb::none(), nb::arg("keep_docstart") = false,
             nb::arg("name") = "", nb::arg("first_line") = 1, nb::arg("output") = "labels", nb::arg("n_jobs") = 1,
             nb::arg("beam") = nb::none())
        .def("name", &BoundModel::name, nb::arg("number"), nb::arg("channel") = "token");
}

}  // namespace tw::bind
