// Model files of CRFsuite (Okazaki 2007), read in place and written.
//
//     header, 48 bytes   lCRF size FOMC version; numbers of features, labels and attributes; five offsets
//     FEAT               (type, source, target, weight) of each feature: 20 bytes, on any address
//     CQDB, twice        labels and attributes: 256 hash tables from names to numbers, and an array back
//     LFRF, AFRF         which features each label, and each attribute, has
//
// All integers are 32 bits, weights 64, little-endian. Opening a file checks what all of it rests on and takes the
// transitions; whatever else is read of it is checked when it is read, so that a file of any size opens at once. What
// does not fit throws std::invalid_argument.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "items.hpp"
#include "key_table.hpp"

namespace tw::linear {

// Bob Jenkins' lookup3 (2006), "hashlittle" from 0.
std::uint32_t jenkins_hash(std::string_view bytes) noexcept;

class CrfsuiteFile {
public:
    static constexpr std::size_t kMostLabels = 8192;  // their transitions then take half a gigabyte

    // A view: the caller keeps the bytes.
    explicit CrfsuiteFile(std::string_view bytes);

    std::size_t n_labels() const { return n_labels_; }
    std::size_t n_attributes() const { return n_attributes_; }
    std::size_t n_features() const { return n_features_; }
    std::span<const std::string> labels() const { return labels_; }
    std::span<const double> transitions() const { return transitions_; }  // [from][to], 0 where there is no feature
    std::string_view header() const { return bytes_.substr(0, 48); }

    // The number of a name, given with its final zero and its hash, or kNoAttribute.
    std::uint32_t find(std::string_view with_zero, std::uint32_t hash) const;
    // Where the search for this hash begins, to be fetched ahead.
    const void* home(std::uint32_t hash) const noexcept;
    std::string_view attribute(std::size_t number) const { return attributes_.name(number, n_attributes_); }

    struct Feature {
        std::uint32_t type, source, target;
        double weight;
    };
    // visit(feature) for those that begin at a label; or at an attribute. Returns how many.
    template <class Visit>
    std::size_t each_transition(std::size_t label, Visit visit) const {
        return each(label_references_, label, n_labels_, visit);
    }
    template <class Visit>
    std::size_t each_weight(std::size_t attribute, Visit visit) const {
        return each(attribute_references_, attribute, n_attributes_, visit);
    }

    // The scores of labels for each item, [items.size()][n_labels]; `hashes` is scratch space.
    void scores(const Items& items, std::vector<std::uint32_t>& hashes, double* out) const;

    // The text that CRFsuite prints of a model.
    std::string dump() const;

    struct Weights {  // of all attributes, in the order of the file
        std::vector<std::uint32_t> starts{0}, labels;
        std::vector<double> weights;
    };
    Weights weights() const;

private:
    struct Names {  // one string database
        std::string_view bytes;
        std::uint32_t back = 0, n_back = 0;  // the array from numbers to records
        std::string_view name(std::size_t number, std::size_t n) const;
    };

    static std::uint32_t integer(std::string_view bytes, std::size_t at) noexcept {
        std::uint32_t value;
        std::memcpy(&value, bytes.data() + at, 4);
        static_assert(std::endian::native == std::endian::little);
        return value;
    }
    std::uint32_t integer(std::size_t at) const noexcept { return integer(bytes_, at); }
    [[noreturn]] static void refuse(const std::string& why);
    void take_header();
    void take_features(std::size_t at);
    Names names_at(std::size_t at, std::size_t n, const char* what) const;
    std::size_t references_at(std::size_t at, std::string_view tag, std::size_t n) const;
    void take_labels();
    void take_transitions();
    Feature feature(std::size_t number) const;

    template <class Visit>
    std::size_t each(std::size_t table, std::size_t i, std::size_t n, Visit visit) const {
        if (i >= n) refuse("a number is out of range");
        const std::size_t at = integer(table + 4 * i);
        if (at == 0) return 0;
        if (at + 4 > bytes_.size()) refuse("a list of features lies outside the file");
        const std::size_t m = integer(at);
        if (m > n_features_ || at + 4 + 4 * m > bytes_.size()) refuse("a list of features lies outside the file");
        for (std::size_t j = 0; j < m; ++j) visit(feature(integer(at + 4 + 4 * j)));
        return m;
    }

    std::string_view bytes_;
    std::size_t n_labels_ = 0, n_attributes_ = 0, n_features_ = 0;
    std::size_t features_ = 0, label_references_ = 0, attribute_references_ = 0;
    Names label_names_, attributes_;
    std::vector<std::string> labels_;
    std::vector<double> transitions_;
};

// What a file is to hold. The weights of attributes[i] are weights[j], of the labels codes[j], for j from starts[i] to
// starts[i + 1] - 1. Weights that are 0 are left out, and so are attributes without any others.
struct CrfsuiteContents {
    std::vector<std::string> labels;
    std::vector<std::string_view> attributes;
    std::vector<std::uint32_t> starts{0}, codes;
    std::vector<double> weights;
    std::vector<double> transitions;  // [from][to]
};
struct CrfsuiteCounts {  // of what was written
    std::size_t features = 0, attributes = 0;
};
std::string crfsuite_bytes(const CrfsuiteContents& contents, CrfsuiteCounts& counts);

}  // namespace tw::linear
