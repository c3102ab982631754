#include "model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

#include "run_rows.hpp"

namespace tw {
namespace {

using Type = Tensor::Type;

// Tokens after which the expanded rows, whose making costs about as much as scoring them, have paid for themselves; and
// what they may cost in memory.
constexpr std::size_t kWorthExpanding = 4096;
constexpr double kMostExpandedBytes = 1e9;
// Of the memories of runs that nobody holds.
constexpr std::size_t kMostIdleBytes = std::size_t{1} << 26;

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
    throw std::invalid_argument("tensor '" + name + "' " + why);
}

const Tensor* find_tensor(const Tensors& tensors, const std::string& name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : &found->second;
}

const Tensor& need_tensor(const Tensors& tensors, const std::string& name) {
    const Tensor* tensor = find_tensor(tensors, name);
    if (!tensor) refuse(name, "is missing");
    return *tensor;
}

template <class T>
std::span<const T> view(const Tensor& tensor, Type type, const std::string& name) {
    if (tensor.type != type) refuse(name, "has the wrong type");
    return {static_cast<const T*>(tensor.data), tensor.size};
}

template <class T>
bool all_below(const void* values, std::size_t size, std::uint64_t limit) {
    const T* at = static_cast<const T*>(values);
    T largest = 0;
    for (std::size_t i = 0; i < size; ++i) largest = std::max(largest, at[i]);
    return size == 0 || largest < limit;
}

bool all_below(Type type, const void* values, std::size_t size, std::uint64_t limit) {
    return type == Type::kUint8    ? all_below<std::uint8_t>(values, size, limit)
           : type == Type::kUint16 ? all_below<std::uint16_t>(values, size, limit)
                                   : all_below<std::uint32_t>(values, size, limit);
}

// Without a branch per value, so that it runs at the speed of memory: the exponent of NaN and infinity is all ones.
bool all_finite(std::span<const float> values) {
    bool finite = true;
    for (const float value : values) finite &= (std::bit_cast<std::uint32_t>(value) & 0x7f800000u) != 0x7f800000u;
    return finite;
}

bool all_finite(std::span<const double> values) {
    constexpr std::uint64_t kExponent = 0x7ff0000000000000u;
    bool finite = true;
    for (const double value : values) finite &= (std::bit_cast<std::uint64_t>(value) & kExponent) != kExponent;
    return finite;
}

bool all_finite(std::span<const std::uint16_t> halves) {
    bool finite = true;
    for (const std::uint16_t half : halves) finite &= (half & 0x7c00u) != 0x7c00u;
    return finite;
}

bool ascending(std::span<const std::uint32_t> values) {
    bool holds = true;
    for (std::size_t i = 1; i < values.size(); ++i) holds &= values[i - 1] <= values[i];
    return holds;
}

// IEEE half precision to single; exact.
float from_half(std::uint16_t half) noexcept {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
    const std::uint32_t magnitude = half & 0x7fffu;
    if (magnitude < 0x0400u) {  // zero and numbers below the normal range: multiples of 2^-24
        const float value = static_cast<float>(magnitude) * 0x1p-24f;
        return sign ? -value : value;
    }
    return std::bit_cast<float>(sign | ((magnitude << 13) + (std::uint32_t{112} << 23)));
}

}  // namespace

WeightRows::WeightRows(const Tensors& tensors, const std::string& prefix, std::size_t n_codes, unsigned hash_bits)
    : n_codes_(n_codes), many_(std::max<std::size_t>(5, (n_codes + 7) / 8)) {
    const std::string name = prefix + ".starts";
    starts_ = view<std::uint32_t>(need_tensor(tensors, name), Type::kUint32, name);
    if (starts_.empty() || starts_.front() != 0 || !ascending(starts_)) refuse(name, "does not ascend from 0");
    if (starts_.size() > kNoAttribute) refuse(name, "is too long");
    check_table(tensors, prefix, hash_bits);
    check_weights(tensors, prefix);
    check_names(tensors, prefix + ".names");
}

void WeightRows::check_table(const Tensors& tensors, const std::string& prefix, unsigned hash_bits) {
    if (hash_bits > 0) {
        if (hash_bits > 31 || n_attributes() != std::size_t{1} << hash_bits)
            refuse(prefix + ".starts", "does not have one row for each of the 2^hash_bits attributes");
        hash_bits_ = hash_bits;
        return;
    }
    const std::string keys = prefix + ".keys", slots = prefix + ".slots";
    table_ = {view<Key>(need_tensor(tensors, keys), Type::kUint64, keys),
              view<std::uint32_t>(need_tensor(tensors, slots), Type::kUint32, slots)};
    if (!valid(table_, n_attributes())) refuse(slots, "is no table of attributes: a size or an entry is wrong");
}

void WeightRows::check_weights(const Tensors& tensors, const std::string& prefix) {
    const std::string codes = prefix + ".codes", weights = prefix + ".weights", scales = prefix + ".scales";
    const Tensor& labels = need_tensor(tensors, codes);
    code_type_ = labels.type;
    codes_ = labels.data;
    if (labels.size != n_weights()) refuse(codes, "does not have one entry per weight");
    if (code_type_ != Type::kUint8 && code_type_ != Type::kUint16 && code_type_ != Type::kUint32)
        refuse(codes, "has the wrong type");
    if (!all_below(code_type_, codes_, labels.size, n_codes_)) refuse(codes, "has a code out of range");
    const Tensor& values = need_tensor(tensors, weights);
    // Halves may come as their bits: not everything that lends memory has a name for them.
    weight_type_ = values.type == Type::kUint16 ? Type::kFloat16 : values.type;
    weights_ = values.data;
    if (values.size != n_weights()) refuse(weights, "does not have one entry per label");
    if (weight_type_ == Type::kFloat32) {
        if (!all_finite(view<float>(values, Type::kFloat32, weights))) refuse(weights, "has a NaN or infinite weight");
    } else if (weight_type_ == Type::kFloat64) {
        if (!all_finite(view<double>(values, Type::kFloat64, weights))) refuse(weights, "has a NaN or infinite weight");
    } else if (weight_type_ == Type::kFloat16) {
        if (!all_finite({static_cast<const std::uint16_t*>(weights_), values.size}))
            refuse(weights, "has a NaN or infinite weight");
    } else if (weight_type_ == Type::kInt8) {
        scales_ = view<float>(need_tensor(tensors, scales), Type::kFloat32, scales);
        const bool enough = scales_.size() == n_codes_ || all_below(code_type_, codes_, labels.size, scales_.size());
        if (scales_.size() != 1 && (scales_.size() > n_codes_ || !enough))
            refuse(scales, "needs one entry, or one per code");
        for (const float scale : scales_)
            if (!(std::abs(scale) <= 1e36f)) refuse(scales, "has a scale that is not finite or beyond 1e36");
    } else {
        refuse(weights, "has the wrong type");
    }
}

double WeightRows::weight(std::size_t i) const noexcept {
    switch (weight_type_) {
        case Type::kFloat32:
            return static_cast<double>(static_cast<const float*>(weights_)[i]);
        case Type::kFloat64:
            return static_cast<const double*>(weights_)[i];
        case Type::kFloat16:
            return static_cast<double>(from_half(static_cast<const std::uint16_t*>(weights_)[i]));
        default:
            return static_cast<double>(static_cast<float>(static_cast<const std::int8_t*>(weights_)[i]) *
                                       scales_[scales_.size() == 1 ? 0 : code(i)]);
    }
}

void WeightRows::sum(const AttributeList& attributes, double* out) const {
    const bool valued = !attributes.values.empty();
    struct Known {
        std::uint32_t number;
        Size size;
        double value;
    };
    std::vector<Known> known;
    for (std::size_t t = 0; t < attributes.n_sites(); ++t, out += n_codes_) {
        std::fill_n(out, n_codes_, 0.0);
        known.clear();
        for (std::size_t i = attributes.starts[t]; i < attributes.starts[t + 1]; ++i)
            if (const std::uint32_t number = find(attributes.keys[i]); number != kNoAttribute)
                known.push_back({number, size(number), valued ? static_cast<double>(attributes.values[i]) : 1.0});
        for (const Size size_now : {Size::kMany, Size::kFew, Size::kSingle})
            for (const auto& [number, its_size, value] : known)
                if (its_size == size_now)
                    each(number, [&](std::uint32_t code, double weight) { out[code] += value * weight; });
    }
}

LabelParts::LabelParts(const Tensors& tensors, std::size_t n_labels) : n_codes(n_labels) {
    const std::string at = "parts.offsets", of = "parts.codes";
    if (!find_tensor(tensors, at)) return;
    starts = view<std::uint32_t>(need_tensor(tensors, at), Type::kUint32, at);
    parts = view<std::uint32_t>(need_tensor(tensors, of), Type::kUint32, of);
    if (starts.size() != n_labels + 1 || starts.front() != 0 || !ascending(starts) || starts.back() != parts.size())
        refuse(at, "does not say which parts each label has");
    for (std::size_t y = 0; y < n_labels; ++y)
        for (std::size_t i = starts[y]; i < starts[y + 1]; ++i)
            if (parts[i] < n_labels || parts[i] - n_labels >= parts.size() ||
                (i > starts[y] && parts[i - 1] >= parts[i]))
                refuse(of, "has a code that is not a part, or codes that do not rise");
    for (const std::uint32_t part : parts) n_codes = std::max<std::size_t>(n_codes, part + 1);
}

void LabelParts::spread(const double* of_codes, std::size_t n_rows, std::size_t n_labels, double* scores) const {
    for (std::size_t row = 0; row < n_rows; ++row, of_codes += n_codes, scores += n_labels)
        for (std::size_t y = 0; y < n_labels; ++y) {
            scores[y] = of_codes[y];
            for (std::size_t i = starts[y]; i < starts[y + 1]; ++i) scores[y] += of_codes[parts[i]];
        }
}

Model::Model(const Tensors& tensors, std::size_t n_labels, unsigned hash_bits, Expand expand)
    : n_labels_(n_labels),
      parts_(tensors, n_labels),
      labels_(tensors, "channel.token", parts_.n_codes, hash_bits),
      expand_(expand) {
    static_assert(std::endian::native == std::endian::little, "model files are little-endian");
    if (n_labels < 1 || n_labels > 32768) throw std::invalid_argument("a model has 1 to 32768 labels");
    if (find_tensor(tensors, "channel.pair.starts"))
        pairs_ = std::make_unique<WeightRows>(tensors, "channel.pair", n_labels * n_labels, hash_bits);
    check_transitions(tensors);
    check_dictionary(tensors);
    if (expand == Expand::kNow) expect(kWorthExpanding);
}

void Model::check_transitions(const Tensors& tensors) {
    const std::size_t K = n_labels_;
    transitions_ = tied_weights(tensors, "channel.transitions", K * K);
    start_.assign(K, 0.0);
    end_.assign(K, 0.0);
    const auto forbid = [&](const std::string& name, std::vector<double>& where) {
        const Tensor* tensor = find_tensor(tensors, name);
        if (!tensor) return;
        const auto allowed = view<std::uint8_t>(*tensor, Type::kUint8, name);
        if (allowed.size() != where.size()) refuse(name, "has the wrong size");
        for (std::size_t i = 0; i < where.size(); ++i)
            if (!allowed[i]) where[i] = -std::numeric_limits<double>::infinity();
    };
    forbid("allowed.transitions", transitions_);
    forbid("allowed.start", start_);
    forbid("allowed.end", end_);
}

void Model::check_dictionary(const Tensors& tensors) {
    const auto get = [&]<class T>(const std::string& name, Type type, std::span<const T>& out) {
        const Tensor& tensor = need_tensor(tensors, name);
        out = view<T>(tensor, type, name);
    };
    if (!find_tensor(tensors, "dictionary.keys")) return;
    get("dictionary.keys", Type::kUint64, dictionary_.keys);
    get("dictionary.offsets", Type::kUint32, dictionary_.starts);
    get("dictionary.labels", Type::kUint16, dictionary_.labels);
    dictionary_.check(n_labels_);
}

std::vector<double> tied_weights(const Tensors& tensors, const std::string& prefix, std::size_t n_codes) {
    const std::string name = prefix + ".weights";
    const auto checked = [&]<class T>(std::span<const T> weights) -> std::vector<double> {
        if (weights.size() != n_codes) refuse(name, "does not have one entry per code");
        if (!all_finite(weights)) refuse(name, "has a NaN or infinite weight");
        return {weights.begin(), weights.end()};
    };
    const Tensor& tensor = need_tensor(tensors, name);
    return tensor.type == Type::kFloat64 ? checked(view<double>(tensor, Type::kFloat64, name))
                                         : checked(view<float>(tensor, Type::kFloat32, name));
}

void WeightRows::check_names(const Tensors& tensors, const std::string& prefix) {
    const Tensor* text = find_tensor(tensors, prefix + ".text");
    if (!text) return;
    const auto bytes = view<std::uint8_t>(*text, Type::kUint8, prefix + ".text");
    const auto ends = view<std::uint32_t>(need_tensor(tensors, prefix + ".ends"), Type::kUint32, prefix + ".ends");
    if (ends.size() != n_attributes() || !ascending(ends) || (!ends.empty() && ends.back() > bytes.size()))
        refuse(prefix + ".ends", "does not give each attribute a part of the text");
    names_ = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    name_ends_ = ends;
}

std::string_view WeightRows::name(std::size_t number) const {
    if (number >= name_ends_.size()) return {};
    const std::size_t begin = number == 0 ? 0 : name_ends_[number - 1];
    return names_.substr(begin, name_ends_[number] - begin);
}

void Model::expect(std::size_t n_tokens) const {
    if (expand_ == Expand::kNever || expanded_.load(std::memory_order_acquire)) return;
    if (n_scored_.fetch_add(n_tokens, std::memory_order_relaxed) + n_tokens < kWorthExpanding) return;
    std::call_once(expanding_, [&] {
        if (labels_.in_double() || (pairs_ && pairs_->in_double())) return;  // their rows would have to be rounded
        if (ExpandedRows::bytes(labels_) + (pairs_ ? ExpandedRows::bytes(*pairs_) : 0.0) > kMostExpandedBytes) return;
        expanded_labels_ = std::make_unique<ExpandedRows>(labels_);
        if (pairs_) expanded_pairs_ = std::make_unique<ExpandedRows>(*pairs_);
        expanded_.store(true, std::memory_order_release);
    });
}

Model::~Model() = default;

Model::HeldRunRows Model::run_rows(const std::shared_ptr<const Extractor>& extractor, bool rounded) const {
    if (!dictionary_.empty() || !parts_.empty() || !RunRows::covers(*extractor, n_labels_)) return {};
    const auto precision = rounded ? RunRows::Precision::kRounded : RunRows::Precision::kExact;
    {
        const std::lock_guard guard(idle_lock_);
        const auto found = std::ranges::find_if(idle_, [&](const std::unique_ptr<RunRows>& rows) {
            return rows->extractor() == extractor.get() && rows->precision() == precision;
        });
        if (found != idle_.end()) {
            HeldRunRows rows(found->release(), {this});
            idle_.erase(found);
            return rows;
        }
    }
    return {new RunRows(extractor, labels_, precision), {this}};
}

void Model::GiveBack::operator()(RunRows* rows) const noexcept { model->give_back(std::unique_ptr<RunRows>(rows)); }

void Model::give_back(std::unique_ptr<RunRows> rows) const noexcept {
    const std::lock_guard guard(idle_lock_);
    try {
        idle_.push_back(std::move(rows));
    } catch (const std::bad_alloc&) {
        return;  // forgotten
    }
    std::size_t bytes = 0;
    for (std::size_t i = idle_.size(); i-- > 0;) {
        bytes += idle_[i]->memory_bytes();
        if (bytes <= kMostIdleBytes) continue;
        idle_.erase(idle_.begin(), idle_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        break;
    }
}

void Model::unary(const AttributeList& attributes, FoundRows& scratch, double* out) const {
    double* sums = out;
    if (!parts_.empty()) {
        scratch.of_codes.resize(attributes.n_sites() * parts_.n_codes + kSlack);
        sums = scratch.of_codes.data();
    }
    if (expanded_.load(std::memory_order_acquire))
        expanded_labels_->sum(attributes, scratch, sums);
    else
        labels_.sum(attributes, sums);
    if (!parts_.empty()) parts_.spread(sums, attributes.n_sites(), n_labels_, out);
    if (!dictionary_.empty()) dictionary_.limit(attributes, n_labels_, out);
}

void Model::per_step(const AttributeList& attributes, FoundRows& scratch, double* out) const {
    if (expanded_.load(std::memory_order_acquire))
        expanded_pairs_->sum(attributes, scratch, out);
    else
        pairs_->sum(attributes, out);
    const std::size_t size = transitions_.size();
    for (std::size_t t = 0; t < attributes.n_sites(); ++t, out += size)
        for (std::size_t i = 0; i < size; ++i) out[i] += transitions_[i];
}

}  // namespace tw
