#include "crfsuite_file.hpp"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <limits>
#include <unordered_set>

#include "../base/interrupt.hpp"
#include "../base/prefetch.hpp"
#include "../text/hashing.hpp"

namespace tw::linear {
namespace {

constexpr double kLargestWeight = 1e100;

constexpr std::size_t kHeader = 48, kFeature = 20, kTables = 256;
constexpr std::size_t kNamesHeader = 24, kRecords = kNamesHeader + 8 * kTables;
constexpr std::uint32_t kByteOrder = 0x62445371;

std::uint32_t bytes4(const char* from) noexcept {
    std::uint32_t value;
    std::memcpy(&value, from, 4);
    return value;
}

}  // namespace

std::uint32_t jenkins_hash(std::string_view bytes) noexcept {
    const auto rotated = [](std::uint32_t x, int k) { return std::rotl(x, k); };
    std::size_t left = bytes.size();
    const char* at = bytes.data();
    std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(left), b = a, c = a;
    for (; left > 12; at += 12, left -= 12) {
        a += bytes4(at);
        b += bytes4(at + 4);
        c += bytes4(at + 8);
        a = (a - c) ^ rotated(c, 4), c += b;
        b = (b - a) ^ rotated(a, 6), a += c;
        c = (c - b) ^ rotated(b, 8), b += a;
        a = (a - c) ^ rotated(c, 16), c += b;
        b = (b - a) ^ rotated(a, 19), a += c;
        c = (c - b) ^ rotated(b, 4), b += a;
    }
    if (left == 0) return c;
    const std::uint64_t low = load_little(at, left < 8 ? left : 8), high = left > 8 ? load_little(at + 8, left - 8) : 0;
    a += static_cast<std::uint32_t>(low);
    b += static_cast<std::uint32_t>(low >> 32);
    c += static_cast<std::uint32_t>(high);
    c = (c ^ b) - rotated(b, 14);
    a = (a ^ c) - rotated(c, 11);
    b = (b ^ a) - rotated(a, 25);
    c = (c ^ b) - rotated(b, 16);
    a = (a ^ c) - rotated(c, 4);
    b = (b ^ a) - rotated(a, 14);
    c = (c ^ b) - rotated(b, 24);
    return c;
}

void CrfsuiteFile::refuse(const std::string& why) {
    throw std::invalid_argument("this is not a model of CRFsuite, or it is damaged: " + why);
}

CrfsuiteFile::CrfsuiteFile(std::string_view bytes) : bytes_(bytes) {
    take_header();
    take_labels();
    take_transitions();
}

void CrfsuiteFile::take_header() {
    if (bytes_.size() < 4 || bytes_.substr(0, 4) != "lCRF") refuse("it does not begin with lCRF");
    if (bytes_.size() < kHeader) refuse("its header is cut off");
    const std::size_t size = integer(4);
    if (size < kHeader || size > bytes_.size())
        refuse("it has " + std::to_string(bytes_.size()) + " bytes, where its header says " + std::to_string(size));
    bytes_ = bytes_.substr(0, size);
    if (bytes_.substr(8, 4) != "FOMC") refuse("it is of another type than FOMC, a first-order chain");
    if (integer(12) != 100) refuse("its version is " + std::to_string(integer(12)) + ", not 100");
    n_labels_ = integer(20);
    n_attributes_ = integer(24);
    if (n_labels_ == 0) refuse("it has no labels, as after training with no data");
    if (n_labels_ > kMostLabels)
        refuse("it would have " + std::to_string(n_labels_) + " labels; at most " + std::to_string(kMostLabels) +
               " are read");
    take_features(integer(28));
    label_names_ = names_at(integer(32), n_labels_, "labels");
    attributes_ = names_at(integer(36), n_attributes_, "attributes");
    label_references_ = references_at(integer(40), "LFRF", n_labels_);
    attribute_references_ = references_at(integer(44), "AFRF", n_attributes_);
}

void CrfsuiteFile::take_features(std::size_t at) {
    if (at + 12 > bytes_.size() || bytes_.substr(at, 4) != "FEAT") refuse("its features are not where they should be");
    n_features_ = integer(at + 8);
    features_ = at + 12;
    if (features_ + kFeature * n_features_ > bytes_.size()) refuse("its features are cut off");
}

CrfsuiteFile::Names CrfsuiteFile::names_at(std::size_t at, std::size_t n, const char* what) const {
    const std::string where = std::string("the names of its ") + what;
    if (at + kRecords > bytes_.size() || bytes_.substr(at, 4) != "CQDB")
        refuse(where + " are not where they should be");
    Names out;
    const std::size_t size = integer(at + 4);
    if (size < kRecords || at + size > bytes_.size()) refuse(where + " lie outside the file");
    out.bytes = bytes_.substr(at, size);
    if (integer(out.bytes, 12) != kByteOrder) refuse(where + " are of a machine with another order of bytes");
    out.n_back = integer(out.bytes, 16);
    out.back = integer(out.bytes, 20);
    if (out.n_back < n || out.back + std::size_t{4} * out.n_back > size) refuse(where + " are too few");
    for (std::size_t table = 0; table < kTables; ++table) {
        const std::size_t from = integer(out.bytes, kNamesHeader + 8 * table);
        const std::size_t slots = integer(out.bytes, kNamesHeader + 8 * table + 4);
        if (slots != 0 && (from < kRecords || from + 8 * slots > size)) refuse(where + " have a table outside of them");
    }
    return out;
}

std::size_t CrfsuiteFile::references_at(std::size_t at, std::string_view tag, std::size_t n) const {
    if (at + 12 > bytes_.size() || bytes_.substr(at, 4) != tag)
        refuse("its lists of features, " + std::string(tag) + ", are not where they should be");
    const std::size_t count = integer(at + 8);
    if (count < n || at + 12 + 4 * count > bytes_.size())
        refuse("its lists of features, " + std::string(tag) + ", are too few");
    return at + 12;
}

std::string_view CrfsuiteFile::Names::name(std::size_t number, std::size_t n) const {
    if (number >= n) refuse("a number is out of range");
    const std::size_t at = integer(bytes, back + 4 * number);
    if (at < kRecords || at + 8 > bytes.size()) refuse("the name of number " + std::to_string(number) + " is missing");
    const std::size_t size = integer(bytes, at + 4);
    if (size == 0 || at + 8 + size > bytes.size() || bytes[at + 8 + size - 1] != '\0')
        refuse("the name of number " + std::to_string(number) + " has no end");
    const std::string_view found = bytes.substr(at + 8, size - 1);
    return found.substr(0, found.find('\0'));  // where it ends in C
}

void CrfsuiteFile::take_labels() {
    std::unordered_set<std::string_view> seen;
    labels_.reserve(n_labels_);
    for (std::size_t i = 0; i < n_labels_; ++i) {
        const std::string_view name = label_names_.name(i, n_labels_);
        if (!seen.insert(name).second) refuse("it has two labels of one name");
        labels_.emplace_back(name);
    }
}

void CrfsuiteFile::take_transitions() {
    transitions_.assign(n_labels_ * n_labels_, 0.0);
    std::size_t total = 0;
    for (std::size_t i = 0; i < n_labels_; ++i) {
        total += each_transition(i, [&](const Feature& f) { transitions_[i * n_labels_ + f.target] = f.weight; });
        if (total > n_features_) refuse("its lists have more features than there are");
    }
}

CrfsuiteFile::Feature CrfsuiteFile::feature(std::size_t number) const {
    if (number >= n_features_) refuse("there is no feature " + std::to_string(number));
    const std::size_t at = features_ + kFeature * number;
    Feature out{integer(at), integer(at + 4), integer(at + 8), 0.0};
    std::memcpy(&out.weight, bytes_.data() + at + 12, 8);
    if (out.type > 1 || out.source >= (out.type == 0 ? n_attributes_ : n_labels_) || out.target >= n_labels_)
        refuse("feature " + std::to_string(number) + " is of labels or attributes that there are not");
    // Beyond this, sums along a sequence are no longer numbers; what training writes is smaller by a hundred digits.
    if (!(std::abs(out.weight) <= kLargestWeight))
        refuse("feature " + std::to_string(number) +
               " has a weight that is not finite, or larger than any that is learned");
    return out;
}

const void* CrfsuiteFile::home(std::uint32_t hash) const noexcept {
    const std::size_t table = kNamesHeader + 8 * (hash % kTables);
    const std::uint32_t slots = integer(attributes_.bytes, table + 4);
    if (slots == 0) return attributes_.bytes.data();
    return attributes_.bytes.data() + integer(attributes_.bytes, table) + std::size_t{8} * ((hash >> 8) % slots);
}

std::uint32_t CrfsuiteFile::find(std::string_view with_zero, std::uint32_t hash) const {
    const std::string_view in = attributes_.bytes;
    const std::size_t table = kNamesHeader + 8 * (hash % kTables);
    const std::size_t from = integer(in, table), slots = integer(in, table + 4);
    if (slots == 0) return kNoAttribute;
    if (from + 8 * slots > in.size()) refuse("a table of names lies outside the file");
    std::size_t i = (hash >> 8) % slots;
    for (std::size_t round = 0; round < slots; ++round, i = i + 1 == slots ? 0 : i + 1) {
        const std::size_t at = integer(in, from + 8 * i + 4);
        if (at == 0) return kNoAttribute;
        if (integer(in, from + 8 * i) != hash) continue;
        if (at + 8 > in.size()) refuse("the name of an attribute lies outside the file");
        const std::size_t size = integer(in, at + 4);
        if (at + 8 + size > in.size()) refuse("the name of an attribute lies outside the file");
        if (in.substr(at + 8, size) != with_zero) continue;
        const std::uint32_t number = integer(in, at);
        if (number >= n_attributes_) refuse("the number of an attribute is out of range");
        return number;
    }
    return kNoAttribute;
}

void CrfsuiteFile::scores(const Items& items, std::vector<std::uint32_t>& hashes, double* out) const {
    const std::size_t n = items.n_attributes();
    hashes.resize(n);
    constexpr std::size_t kAhead = 12;
    for (std::size_t i = 0; i < n; ++i) {
        hashes[i] = jenkins_hash(items.with_zero(i));
        if (i < kAhead) fetch_to_read(home(hashes[i]));
    }
    std::fill_n(out, items.size() * n_labels_, 0.0);
    InterruptCheck check;
    for (std::size_t t = 0; t < items.size(); ++t, out += n_labels_) {
        check();
        for (std::size_t i = items.items[t]; i < items.items[t + 1]; ++i) {
            if (i + kAhead < n) fetch_to_read(home(hashes[i + kAhead]));
            const std::uint32_t number = find(items.with_zero(i), hashes[i]);
            if (number == kNoAttribute) continue;
            const double value = items.values[i];
            each_weight(number, [&](const Feature& f) { out[f.target] += value * f.weight; });
        }
    }
}

CrfsuiteFile::Weights CrfsuiteFile::weights() const {
    Weights out;
    InterruptCheck check;
    for (std::size_t a = 0; a < n_attributes_; ++a) {
        check();
        each_weight(a, [&](const Feature& f) {
            out.labels.push_back(f.target);
            out.weights.push_back(f.weight);
        });
        if (out.labels.size() > n_features_) refuse("its lists have more features than there are");
        out.starts.push_back(static_cast<std::uint32_t>(out.labels.size()));
    }
    return out;
}

std::string CrfsuiteFile::dump() const {
    std::string out;
    char line[96];
    const auto add = [&](const char* format, auto... values) {
        std::snprintf(line, sizeof line, format, values...);
        out += line;
    };
    out += "FILEHEADER = {\n  magic: lCRF\n";
    add("  size: %" PRIu32 "\n", integer(4));
    out += "  type: FOMC\n";
    const char* counts[] = {"version", "num_features", "num_labels", "num_attrs"};
    for (std::size_t i = 0; i < 4; ++i) add("  %s: %" PRIu32 "\n", counts[i], integer(12 + 4 * i));
    const char* offsets[] = {"off_features", "off_labels", "off_attrs", "off_labelrefs", "off_attrrefs"};
    for (std::size_t i = 0; i < 5; ++i) add("  %s: 0x%" PRIX32 "\n", offsets[i], integer(28 + 4 * i));
    out += "}\n\nLABELS = {\n";
    const auto named = [&](std::size_t i, std::string_view name) {
        add("  %5" PRIu32 ": ", static_cast<std::uint32_t>(i));
        out.append(name);
        out += '\n';
    };
    InterruptCheck check;
    for (std::size_t i = 0; i < n_labels_; ++i) named(i, labels_[i]);
    out += "}\n\nATTRIBUTES = {\n";
    for (std::size_t i = 0; i < n_attributes_; ++i) {
        check();
        named(i, attribute(i));
    }
    const auto featured = [&](const Feature& f) {
        add("  (%" PRIu32 ") ", f.type);
        out.append(f.type == 0 ? attribute(f.source) : std::string_view(labels_[f.source]));
        out += " --> ";
        out += labels_[f.target];
        char number[360];  // as long as %f may be
        std::snprintf(number, sizeof number, ": %f\n", f.weight);
        out += number;
    };
    out += "}\n\nTRANSITIONS = {\n";
    for (std::size_t i = 0; i < n_labels_; ++i) each_transition(i, featured);
    out += "}\n\nSTATE_FEATURES = {\n";
    std::size_t total = 0;
    for (std::size_t i = 0; i < n_attributes_; ++i) {
        check();
        total += each_weight(i, featured);
        if (total > n_features_) refuse("its lists have more features than there are");
    }
    out += "}\n\n";
    return out;
}

// ---- writing
// ---------------------------------------------------------------------------------------------------------

namespace {

class Writer {
public:
    std::string bytes;

    void integer(std::size_t value) {
        if (value > std::numeric_limits<std::uint32_t>::max())
            throw std::invalid_argument("a model of CRFsuite has room for 4 GiB, and this one is larger");
        const auto narrow = static_cast<std::uint32_t>(value);
        bytes.append(reinterpret_cast<const char*>(&narrow), 4);
    }
    void number(double value) { bytes.append(reinterpret_cast<const char*>(&value), 8); }
    void set(std::size_t at, std::size_t value) {
        Writer one;
        one.integer(value);
        bytes.replace(at, 4, one.bytes);
    }
    void align() {
        while (bytes.size() % 4 != 0) bytes.push_back('\0');
    }
    void feature(std::uint32_t type, std::size_t source, std::size_t target, double weight) {
        integer(type);
        integer(source);
        integer(target);
        number(weight);
    }

    template <class Name>
    void names(std::size_t n, Name name) {
        struct Slot {
            std::uint32_t hash, record;
        };
        const std::size_t begin = bytes.size();
        bytes.append("CQDB");
        for (const std::size_t value : {std::size_t{0}, std::size_t{0}, std::size_t{kByteOrder}, n, std::size_t{0}})
            integer(value);
        bytes.append(8 * kTables, '\0');
        std::vector<std::vector<Slot>> tables(kTables);
        std::vector<std::uint32_t> back;
        for (std::size_t i = 0; i < n; ++i) {
            std::string text(name(i));
            text.push_back('\0');
            back.push_back(static_cast<std::uint32_t>(bytes.size() - begin));
            const std::uint32_t hash = jenkins_hash(text);
            tables[hash % kTables].push_back({hash, back.back()});
            integer(i);
            integer(text.size());
            bytes.append(text);
        }
        for (std::size_t table = 0; table < kTables; ++table) {
            if (tables[table].empty()) continue;
            std::vector<Slot> slots(2 * tables[table].size(), Slot{0, 0});
            for (const Slot& entry : tables[table]) {
                std::size_t at = (entry.hash >> 8) % slots.size();
                while (slots[at].record != 0) at = at + 1 == slots.size() ? 0 : at + 1;
                slots[at] = entry;
            }
            set(begin + kNamesHeader + 8 * table, bytes.size() - begin);
            set(begin + kNamesHeader + 8 * table + 4, slots.size());
            for (const Slot& slot : slots) {
                integer(slot.hash);
                integer(slot.record);
            }
        }
        if (n > 0) set(begin + 20, bytes.size() - begin);
        for (const std::uint32_t record : back) integer(record);
        set(begin + 4, bytes.size() - begin);
    }

    // A list of features, first[i] .. first[i + 1] - 1, for each of n; `more` entries of the table stay 0.
    void references(const char* tag, std::span<const std::size_t> first, std::size_t more) {
        align();
        const std::size_t begin = bytes.size(), n = first.size() - 1;
        bytes.append(tag);
        integer(0);
        integer(n + more);
        bytes.append(4 * (n + more), '\0');
        for (std::size_t i = 0; i < n; ++i) {
            set(begin + 12 + 4 * i, bytes.size());
            integer(first[i + 1] - first[i]);
            for (std::size_t feature = first[i]; feature < first[i + 1]; ++feature) integer(feature);
        }
        set(begin + 4, bytes.size() - begin);
    }
};

}  // namespace

std::string crfsuite_bytes(const CrfsuiteContents& contents, CrfsuiteCounts& counts) {
    const std::size_t K = contents.labels.size();
    Writer out;
    out.bytes.append(kHeader, '\0');
    out.bytes.append("FEAT");
    out.integer(0);
    out.integer(0);
    std::vector<std::size_t> kept, of_attribute{0}, of_label{0};
    std::size_t n = 0;
    for (std::size_t a = 0; a < contents.attributes.size(); ++a) {
        const std::size_t before = n;
        for (std::size_t i = contents.starts[a]; i < contents.starts[a + 1]; ++i) {
            if (contents.weights[i] == 0.0) continue;
            out.feature(0, kept.size(), contents.codes[i], contents.weights[i]);
            ++n;
        }
        if (n == before) continue;
        kept.push_back(a);
        of_attribute.push_back(n);
    }
    of_label.back() = n;
    for (std::size_t from = 0; from < K; ++from) {
        for (std::size_t to = 0; to < K; ++to) {
            if (contents.transitions[from * K + to] == 0.0) continue;
            out.feature(1, from, to, contents.transitions[from * K + to]);
            ++n;
        }
        of_label.push_back(n);
    }
    out.set(kHeader + 4, out.bytes.size() - kHeader);
    out.set(kHeader + 8, n);
    const std::size_t labels = out.bytes.size();
    out.names(K, [&](std::size_t i) { return std::string_view(contents.labels[i]); });
    const std::size_t attributes = out.bytes.size();
    out.names(kept.size(), [&](std::size_t i) { return contents.attributes[kept[i]]; });
    out.align();
    const std::size_t label_references = out.bytes.size();
    out.references("LFRF", of_label, 2);
    out.align();
    const std::size_t attribute_references = out.bytes.size();
    out.references("AFRF", of_attribute, 0);

    Writer header;
    header.bytes.append("lCRF");
    header.integer(out.bytes.size());
    header.bytes.append("FOMC");
    for (const std::size_t value : {std::size_t{100}, std::size_t{0}, K, kept.size(), kHeader, labels, attributes,
                                    label_references, attribute_references})
        header.integer(value);
    out.bytes.replace(0, kHeader, header.bytes);
    counts = {n, kept.size()};
    return out.bytes;
}

}  // namespace tw::linear
