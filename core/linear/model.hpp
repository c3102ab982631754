// A trained model: weights by attribute and label, as its file holds them. Views into memory that the caller keeps
// alive (an mmap, usually); every size, offset, label and number is checked before any is used.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../base/prefetch.hpp"
#include "../text/attributes.hpp"
#include "expanded.hpp"
#include "key_table.hpp"
#include "tag_dictionary.hpp"

namespace tw {

class Extractor;
class RunRows;

// One tensor of a model file: little-endian, aligned to its type.
struct Tensor {
    enum class Type { kUint8, kUint16, kUint32, kUint64, kInt8, kFloat16, kFloat32, kFloat64 };
    Type type;
    const void* data;
    std::size_t size;  // entries
};
using Tensors = std::map<std::string, Tensor, std::less<>>;

// From the key of an attribute to its row of weights. Codes are labels, or label pairs (previous * K + current), ...
class WeightRows {
public:
    // The tensors whose names begin with `prefix`; throws std::invalid_argument unless they fit together.
    WeightRows(const Tensors& tensors, const std::string& prefix, std::size_t n_codes, unsigned hash_bits);

    std::size_t n_attributes() const { return starts_.size() - 1; }
    std::size_t n_weights() const { return starts_.back(); }
    std::size_t n_codes() const { return n_codes_; }
    bool hashed() const { return hash_bits_ > 0; }
    bool in_double() const { return weight_type_ == Tensor::Type::kFloat64; }  // models of other programs are
    const KeyTable& table() const { return table_; }

    std::uint32_t find(Key key) const noexcept {
        return hash_bits_ > 0 ? static_cast<std::uint32_t>(key >> (64 - hash_bits_)) : table_.find(key);
    }
    // The name of an attribute, or nothing when names were not kept.
    std::string_view name(std::size_t number) const;

    void fetch(Key key) const noexcept {  // where a search for it begins
        if (hash_bits_ > 0) return fetch_to_read(&starts_[key >> (64 - hash_bits_)]);
        const std::size_t home = KeyTable::home(key, table_.slots.size());
        fetch_to_read(&table_.keys[home]);
        fetch_to_read(&table_.slots[home]);
    }

    std::size_t row_size(std::uint32_t number) const noexcept { return starts_[number + 1] - starts_[number]; }

    // Calls visit(code, weight) for the weights of an attribute, in the order of the file.
    template <class Visit>
    void each(std::uint32_t number, Visit visit) const {
        const std::size_t begin = starts_[number], end = starts_[number + 1];
        if (in_double() && code_type_ == Tensor::Type::kUint8) {  // these are not expanded, so this is what is quick
            const auto* codes = static_cast<const std::uint8_t*>(codes_);
            const auto* weights = static_cast<const double*>(weights_);
            for (std::size_t i = begin; i < end; ++i) visit(std::uint32_t{codes[i]}, weights[i]);
            return;
        }
        for (std::size_t i = begin; i < end; ++i) visit(code(i), weight(i));
    }

    // Rows with many weights are summed first, then those with few, then single weights: each kind has a form of its
    // own when it is expanded, and the order of additions is part of what a score is.
    enum class Size { kMany, kFew, kSingle };
    Size size(std::uint32_t number) const noexcept {
        const std::size_t n = row_size(number);
        return n >= many_ ? Size::kMany : n == 1 ? Size::kSingle : Size::kFew;
    }

    // out[t][code] = sum over the attributes of token t of value * weight, in double precision.
    void sum(const AttributeList& attributes, double* out) const;

private:
    std::uint32_t code(std::size_t i) const noexcept {
        switch (code_type_) {
            case Tensor::Type::kUint8:
                return static_cast<const std::uint8_t*>(codes_)[i];
            case Tensor::Type::kUint16:
                return static_cast<const std::uint16_t*>(codes_)[i];
            default:
                return static_cast<const std::uint32_t*>(codes_)[i];
        }
    }
    double weight(std::size_t i) const noexcept;
    void check_table(const Tensors& tensors, const std::string& prefix, unsigned hash_bits);
    void check_weights(const Tensors& tensors, const std::string& prefix);
    void check_names(const Tensors& tensors, const std::string& prefix);

    std::size_t n_codes_, many_;
    unsigned hash_bits_ = 0;
    KeyTable table_{};
    std::span<const std::uint32_t> starts_;
    Tensor::Type code_type_{}, weight_type_{};
    const void* codes_ = nullptr;
    const void* weights_ = nullptr;
    std::span<const float> scales_;  // of int8 weights: one for all, or one per code
    std::string_view names_;
    std::span<const std::uint32_t> name_ends_;
};

// Which further codes of attributes each label has besides its own: those of its parts, shared with other labels.
//
//     codes of attributes    [labels 0 .. K - 1][parts K .. K + P - 1]
//     starts [K + 1]         where the parts of each label begin
//     parts [...]            rising for each label
struct LabelParts {
    std::span<const std::uint32_t> starts, parts;
    std::size_t n_codes = 0;  // of attributes: K where no label has parts

    LabelParts(const Tensors& tensors, std::size_t n_labels);  // throws std::invalid_argument unless they are sound
    bool empty() const { return parts.empty(); }
    // scores[label] = the sum over its codes, for every row.
    void spread(const double* of_codes, std::size_t n_rows, std::size_t n_labels, double* scores) const;
};

// The weights of a tied channel, one for each code.
std::vector<double> tied_weights(const Tensors& tensors, const std::string& prefix, std::size_t n_codes);

// When rows are copied into the form of expanded.hpp: after enough tokens to pay for it, at once, or not at all, so
// that processes share the pages of the file.
enum class Expand { kWhenWorthwhile, kNow, kNever };

// Immutable; any number of threads may use it.
class Model {
public:
    Model(const Tensors& tensors, std::size_t n_labels, unsigned hash_bits, Expand expand);
    ~Model();

    std::size_t n_labels() const { return n_labels_; }
    const WeightRows& labels() const { return labels_; }
    const WeightRows* pairs() const { return pairs_.get(); }  // null when no attribute meets label pairs
    const WeightRows* rows(std::string_view channel) const {  // null when the model has no such channel
        return channel == kTokenChannel ? &labels_ : channel == kPairChannel ? pairs_.get() : nullptr;
    }
    // -inf where a transition, or a label at the start or the end, is not allowed.
    std::span<const double> transitions() const { return transitions_; }
    std::span<const double> start() const { return start_; }
    std::span<const double> end() const { return end_; }

    // Says that so many tokens are about to be scored.
    void expect(std::size_t n_tokens) const;

    // Entries that must be writable after the rows that `unary` writes.
    static constexpr std::size_t kSlack = 16;
    // Scores of tokens by label, [n_tokens][n_labels], -inf where the model has a tag dictionary and a token's word
    // does not take a label; and of label pairs, [n_tokens][n_labels][n_labels].
    void unary(const AttributeList& attributes, FoundRows& scratch, double* out) const;
    void per_step(const AttributeList& attributes, FoundRows& scratch, double* out) const;

    // The memory of one thread for the runs of cells that these templates see, as long as it is held; null where
    // they see none. It is handed on to the next who asks. `rounded`: for scores in single precision.
    struct GiveBack {
        const Model* model = nullptr;
        void operator()(RunRows* rows) const noexcept;
    };
    using HeldRunRows = std::unique_ptr<RunRows, GiveBack>;
    HeldRunRows run_rows(const std::shared_ptr<const Extractor>& extractor, bool rounded) const;

private:
    void check_transitions(const Tensors& tensors);
    void check_dictionary(const Tensors& tensors);
    void give_back(std::unique_ptr<RunRows> rows) const noexcept;

    std::size_t n_labels_;
    LabelParts parts_;
    WeightRows labels_;
    std::unique_ptr<WeightRows> pairs_;
    std::vector<double> transitions_, start_, end_;
    TagDictionary dictionary_;  // or empty

    Expand expand_;
    mutable std::atomic<std::size_t> n_scored_{0};
    mutable std::once_flag expanding_;
    mutable std::unique_ptr<const ExpandedRows> expanded_labels_, expanded_pairs_;
    mutable std::atomic<bool> expanded_{false};

    mutable std::mutex idle_lock_;
    mutable std::vector<std::unique_ptr<RunRows>> idle_;  // nobody's at the moment, the longest idle first
};

}  // namespace tw
