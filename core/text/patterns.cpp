#include "patterns.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "characters.hpp"
#include "columns.hpp"

namespace tw {

namespace {

constexpr std::size_t kMaxProgram = 4096, kMaxDepth = 100, kMaxRepeat = 1000;
constexpr std::size_t kMaxMachineProgram = 64, kMaxMachineStates = 64;  // beyond, machines take long to make

constexpr std::uint32_t bit(CharacterKind kind) { return 1u << static_cast<unsigned>(kind); }
constexpr std::uint32_t kLowerBit = bit(CharacterKind::kLower), kUpperBit = bit(CharacterKind::kUpper),
                        kDigitBit = bit(CharacterKind::kDigit), kMarkBit = bit(CharacterKind::kMark),
                        kSpaceBit = bit(CharacterKind::kSpace),
                        kAlphaBits = kLowerBit | kUpperBit | bit(CharacterKind::kLetter);

}  // namespace

// From text to program: a parse into a tree, because {m,n} repeats what it stands behind, then one walk over the tree.
class PatternCompiler {
public:
    PatternCompiler(std::string_view text, Pattern::Dialect dialect, Pattern& out)
        : text_(text), wapiti_(dialect == Pattern::Dialect::kWapiti), out_(out) {
        if (text.size() > kMaxProgram) fail("it is longer than " + std::to_string(kMaxProgram) + " bytes");
        const NodePtr root = wapiti_ ? parse_wapiti() : parse_alternatives(0);
        if (at_ < text_.size()) fail("a ) without a ( before it");
        emit(*root);
        put({Pattern::Op::kMatch});
    }

private:
    using Op = Pattern::Op;
    struct Node;
    using NodePtr = std::unique_ptr<Node>;
    struct Node {
        enum class Kind : std::uint8_t { kLeaf, kSequence, kAlternatives, kRepeat } kind;
        Pattern::Instruction leaf{Op::kMatch};
        std::vector<NodePtr> children{};
        std::size_t least = 0, most = 0;  // of a repeat; most = 0 for no limit
        bool lazy = false;
    };

    static NodePtr make(typename Node::Kind kind) {
        auto node = std::make_unique<Node>();
        node->kind = kind;
        return node;
    }
    static NodePtr leaf(Op op, std::uint32_t x = 0) {
        auto node = make(Node::Kind::kLeaf);
        node->leaf = {op, x};
        return node;
    }

    // The usual syntax.
    NodePtr parse_alternatives(std::size_t depth) {
        if (depth > kMaxDepth) fail("its groups are nested too deeply");
        auto node = make(Node::Kind::kAlternatives);
        node->children.push_back(parse_sequence(depth));
        while (take('|')) node->children.push_back(parse_sequence(depth));
        return node->children.size() == 1 ? std::move(node->children[0]) : std::move(node);
    }

    NodePtr parse_sequence(std::size_t depth) {
        auto node = make(Node::Kind::kSequence);
        while (at_ < text_.size() && text_[at_] != '|' && text_[at_] != ')')
            node->children.push_back(parse_repeat(parse_atom(depth)));
        return node;
    }

    NodePtr parse_atom(std::size_t depth) {
        if (take('(')) {
            if (take('?') && !take(':')) fail("after (? only : is known");
            NodePtr inner = parse_alternatives(depth + 1);
            if (!take(')')) fail("a ( without a )");
            return inner;
        }
        if (take('^')) return leaf(Op::kBegin);
        if (take('$')) return leaf(Op::kEnd);
        if (take('.')) return leaf(Op::kAny);
        if (take('[')) return leaf(Op::kSet, parse_set());
        if (take('\\')) return parse_escape();
        const char32_t code = next_character(text_, at_);
        if (code == '*' || code == '+' || code == '?' || code == '{')
            fail("nothing to repeat before " + quoted(text_.substr(at_ - 1, 1)));
        return leaf(Op::kCharacter, code);
    }

    NodePtr parse_repeat(NodePtr atom) {
        std::size_t least = 0, most = 0;
        if (take('*')) {
        } else if (take('+')) {
            least = 1;
        } else if (take('?')) {
            most = 1;
        } else if (take('{')) {
            least = parse_count();
            most = least;
            if (take(',')) most = at_ < text_.size() && text_[at_] == '}' ? 0 : parse_count();
            if (!take('}')) fail("a { without a }");
            if (most != 0 && most < least) fail("{m,n} with m greater than n");
            if (most == 0 && text_[at_ - 2] != ',') {  // {0}: nothing at all
                take('?');
                return make(Node::Kind::kSequence);
            }
        } else {
            return atom;
        }
        const bool lazy = take('?');
        if (at_ < text_.size() && (text_[at_] == '*' || text_[at_] == '+' || text_[at_] == '?' || text_[at_] == '{'))
            fail("one repeat behind another; put the first in parentheses");
        return repeat(std::move(atom), least, most, lazy);
    }

    NodePtr repeat(NodePtr atom, std::size_t least, std::size_t most, bool lazy) {
        auto node = make(Node::Kind::kRepeat);
        node->children.push_back(std::move(atom));
        node->least = least, node->most = most, node->lazy = lazy;
        return node;
    }

    std::size_t parse_count() {
        std::size_t count = 0;
        const std::size_t from = at_;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
            count = count * 10 + static_cast<std::size_t>(text_[at_] - '0');
            if (count > kMaxRepeat) fail("it repeats more than " + std::to_string(kMaxRepeat) + " times");
        }
        if (at_ == from) fail("a number is missing in { }; for the character write \\{");
        return count;
    }

    NodePtr parse_escape() {
        if (at_ == text_.size()) fail("it ends in a backslash");
        const char32_t code = next_character(text_, at_);
        Pattern::Set set;
        if (class_of(code, set)) return leaf(Op::kSet, add_set(std::move(set)));
        return leaf(Op::kCharacter, escaped(code));
    }

    char32_t escaped(char32_t code) {
        if (wapiti_) return code;
        if (code == 't') return '\t';
        if (code == 'n') return '\n';
        if (code == 'r') return '\r';
        if ((code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z'))
            fail(std::string("\\") + static_cast<char>(code) + " is not known");
        return code;
    }

    // The classes of \d and so on; false for a character that stands for itself.
    bool class_of(char32_t code, Pattern::Set& set) const {
        switch (code < 128 ? static_cast<char>(code | 0x20) : '\0') {
            case 'd':
                set.kinds = kDigitBit;
                break;
            case 'a':
                set.kinds = kAlphaBits;
                break;
            case 'l':
                set.kinds = kLowerBit;
                break;
            case 'u':
                set.kinds = kUpperBit;
                break;
            case 'p':
                set.kinds = kMarkBit;
                break;
            case 's':
                set.kinds = kSpaceBit;
                break;
            case 'w':
                set.kinds = kAlphaBits | kDigitBit;
                if (!wapiti_) set.ranges.push_back({'_', '_'});
                break;
            default:
                return false;
        }
        if (code < 'A' || code > 'z' || (code > 'Z' && code < 'a')) return false;
        set.negated = code < 'a';
        return true;
    }

    std::uint32_t parse_set() {
        Pattern::Set set;
        set.negated = take('^');
        for (bool first = true;; first = false) {
            if (at_ == text_.size()) fail("a [ without a ]");
            if (!first && take(']')) break;
            char32_t from = next_character(text_, at_);
            if (from == '\\') {
                if (at_ == text_.size()) fail("it ends in a backslash");
                from = next_character(text_, at_);
                Pattern::Set inner;
                if (class_of(from, inner)) {
                    add_class(set, inner);
                    continue;
                }
                from = escaped(from);
            }
            set.ranges.push_back({from, parse_range_end(from)});
        }
        return add_set(std::move(set));
    }

    void add_class(Pattern::Set& set, const Pattern::Set& inner) {
        set.kinds |= inner.negated ? ~inner.kinds & 0x7f : inner.kinds;
        if (inner.negated && !inner.ranges.empty()) fail("\\W inside [ ]; write [^\\w] or name what is meant");
        set.ranges.insert(set.ranges.end(), inner.ranges.begin(), inner.ranges.end());
    }

    char32_t parse_range_end(char32_t from) {
        if (at_ + 1 >= text_.size() || text_[at_] != '-' || text_[at_ + 1] == ']') return from;
        ++at_;
        char32_t to = next_character(text_, at_);
        if (to == '\\') {
            if (at_ == text_.size()) fail("it ends in a backslash");
            to = next_character(text_, at_);
            Pattern::Set ignored;
            if (class_of(to, ignored)) fail("a range that ends in a class");
            to = escaped(to);
        }
        if (to < from) fail("a range in [ ] that runs backwards");
        return to;
    }

    // Wapiti's syntax: single characters, each perhaps with * or ?.
    NodePtr parse_wapiti() {
        auto node = make(Node::Kind::kSequence);
        if (take('^')) node->children.push_back(leaf(Op::kBegin));
        while (at_ < text_.size()) {
            if (text_[at_] == '$' && at_ + 1 == text_.size()) {
                ++at_;
                node->children.push_back(leaf(Op::kEnd));
                break;
            }
            if (text_[at_] == '*' || text_[at_] == '?')
                fail("a * or ? with nothing before it; for the character write \\*");
            NodePtr atom = take('.') ? leaf(Op::kAny) : take('\\') ? parse_escape() : nullptr;
            if (!atom) atom = leaf(Op::kCharacter, next_character(text_, at_));
            if (take('*'))
                atom = repeat(std::move(atom), 0, 0, true);
            else if (take('?'))
                atom = repeat(std::move(atom), 0, 1, false);
            node->children.push_back(std::move(atom));
        }
        return node;
    }

    // From the tree to instructions.
    void emit(const Node& node) {
        // Repeats of nothing write no instruction, so the visits are limited as well.
        if (++n_visits_ > 16 * kMaxProgram) fail("it is too large once its repeats are written out");
        switch (node.kind) {
            case Node::Kind::kLeaf:
                put(node.leaf);
                break;
            case Node::Kind::kSequence:
                for (const NodePtr& child : node.children) emit(*child);
                break;
            case Node::Kind::kAlternatives:
                emit_alternatives(node);
                break;
            case Node::Kind::kRepeat:
                emit_repeat(node);
                break;
        }
    }

    void emit_alternatives(const Node& node) {
        std::vector<std::uint32_t> jumps;
        for (std::size_t i = 0; i + 1 < node.children.size(); ++i) {
            const std::uint32_t split = put({Op::kSplit});
            out_.program_[split].x = here();
            emit(*node.children[i]);
            jumps.push_back(put({Op::kJump}));
            out_.program_[split].y = here();
        }
        emit(*node.children.back());
        for (const std::uint32_t jump : jumps) out_.program_[jump].x = here();
    }

    void emit_repeat(const Node& node) {
        const Node& body = *node.children[0];
        for (std::size_t i = 0; i < node.least; ++i) emit(body);
        if (node.most == 0) {  // no limit
            const std::uint32_t split = put({Op::kSplit}), inside = here();
            emit(body);
            put({Op::kJump, split});
            set_split(split, inside, here(), node.lazy);
            return;
        }
        std::vector<std::pair<std::uint32_t, std::uint32_t>> splits;
        for (std::size_t i = node.least; i < node.most; ++i) {
            const std::uint32_t split = put({Op::kSplit});
            splits.push_back({split, here()});
            emit(body);
        }
        for (const auto& [split, inside] : splits) set_split(split, inside, here(), node.lazy);
    }

    void set_split(std::uint32_t split, std::uint32_t inside, std::uint32_t behind, bool lazy) {
        out_.program_[split].x = lazy ? behind : inside;
        out_.program_[split].y = lazy ? inside : behind;
    }

    std::uint32_t here() const { return static_cast<std::uint32_t>(out_.program_.size()); }
    std::uint32_t put(Pattern::Instruction instruction) {
        if (out_.program_.size() == kMaxProgram) fail("it is too large once its repeats are written out");
        out_.program_.push_back(instruction);
        return here() - 1;
    }
    std::uint32_t add_set(Pattern::Set&& set) {
        out_.sets_.push_back(std::move(set));
        return static_cast<std::uint32_t>(out_.sets_.size() - 1);
    }
    bool take(char c) {
        const bool found = at_ < text_.size() && text_[at_] == c;
        at_ += found;
        return found;
    }
    [[noreturn]] void fail(const std::string& what) const {
        throw std::invalid_argument("the regular expression " + quoted(text_) + " cannot be read: " + what + ".");
    }

    std::string_view text_;
    bool wapiti_;
    Pattern& out_;
    std::size_t at_ = 0, n_visits_ = 0;
};

// The states the machine is in, best first; each once.
struct Pattern::Threads {
    void fit(std::size_t size) {
        if (seen.size() < size) seen.resize(size, 0);
    }
    void clear() {
        list.clear();
        ++round;
    }
    struct Thread {
        std::uint32_t at;
        std::size_t start;
    };
    std::vector<Thread> list;
    std::vector<std::size_t> seen;
    std::size_t round = 0;
    std::vector<std::uint32_t> stack;
};

// From program to deterministic machine: a state for every set of states that the other one can be in at once.
class MachineBuilder {
public:
    explicit MachineBuilder(const Pattern& pattern) : pattern_(pattern), program_(pattern.program_) {}

    Pattern::Machine build() {
        if (program_.size() > kMaxMachineProgram) return {};
        find_classes();
        number_of({});  // no match can follow
        out_.next.resize(2 * out_.n_classes, 0);
        std::ranges::fill(out_.next.begin() + static_cast<std::ptrdiff_t>(out_.n_classes), out_.next.end(), kFound);
        states_.push_back({});  // found
        States first;
        follow(first, 0, true, false);
        states_.push_back(first);
        for (std::size_t state = kFirst; state < states_.size(); ++state) {
            if (states_.size() > kMaxMachineStates) return {};
            out_.next.resize((state + 1) * out_.n_classes);
            for (std::size_t c = 0; c < out_.n_classes; ++c)
                out_.next[state * out_.n_classes + c] = static_cast<std::uint8_t>(after(state, c));
        }
        return std::move(out_);
    }

private:
    using Op = Pattern::Op;
    using States = std::vector<std::uint32_t>;  // ascending; what waits for a character or the end, or a match
    static constexpr std::uint8_t kNone = 0, kFound = 1, kFirst = 2;

    void find_classes() {
        std::map<std::vector<bool>, std::uint8_t> known;
        example_.assign(1, 0);  // of the class of the end, which is no character
        for (char32_t code = 0; code < 128; ++code) {
            std::vector<bool> matched;
            for (const auto& instruction : program_) matched.push_back(pattern_.matches(instruction, code));
            const auto [found, is_new] = known.emplace(matched, static_cast<std::uint8_t>(known.size() + 1));
            if (is_new) example_.push_back(code);
            out_.class_of[code] = found->second;
        }
        out_.n_classes = example_.size();
    }

    std::size_t after(std::size_t state, std::size_t c) {
        const States now = states_[state];
        if (contains_match(now)) return kFound;
        States next;
        for (const std::uint32_t at : now) {
            const auto& instruction = program_[at];
            if (c == 0 && instruction.op == Op::kEnd) follow(next, at + 1, state == kFirst, true);
            if (c != 0 && pattern_.matches(instruction, example_[c])) follow(next, at + 1, false, false);
        }
        if (c == 0) return contains_match(next) ? kFound : kNone;
        follow(next, 0, false, false);  // a match may begin at every character
        std::ranges::sort(next);
        return contains_match(next) ? kFound : number_of(next);
    }

    bool contains_match(const States& states) const {
        return std::ranges::any_of(states, [&](std::uint32_t at) { return program_[at].op == Op::kMatch; });
    }

    std::size_t number_of(const States& states) {
        const auto [found, is_new] = numbers_.emplace(states, states_.size());
        if (is_new) states_.push_back(states);
        return found->second;
    }

    // Adds the states that can be reached without reading a character.
    void follow(States& states, std::uint32_t from, bool at_begin, bool at_end) const {
        std::vector<std::uint32_t> stack{from};
        std::vector<bool> seen(program_.size(), false);
        while (!stack.empty()) {
            const std::uint32_t at = stack.back();
            stack.pop_back();
            if (seen[at]) continue;
            seen[at] = true;
            const auto& instruction = program_[at];
            if (instruction.op == Op::kSplit) {
                stack.push_back(instruction.x);
                stack.push_back(instruction.y);
            } else if (instruction.op == Op::kJump) {
                stack.push_back(instruction.x);
            } else if (instruction.op == Op::kBegin) {
                if (at_begin) stack.push_back(at + 1);
            } else if (instruction.op == Op::kEnd && at_end) {
                stack.push_back(at + 1);
            } else if (std::ranges::find(states, at) == states.end()) {
                states.push_back(at);
            }
        }
    }

    const Pattern& pattern_;
    const std::vector<Pattern::Instruction>& program_;
    Pattern::Machine out_;
    std::vector<char32_t> example_;  // [class]
    std::vector<States> states_;
    std::map<States, std::size_t> numbers_;
};

Pattern::Pattern(std::string_view pattern, Dialect dialect) {
    PatternCompiler(pattern, dialect, *this);
    machine_ = MachineBuilder(*this).build();
}

bool Pattern::found_in(std::string_view text) const {
    if (machine_.next.empty()) return search(text).has_value();
    std::size_t state = 2;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 128) return search(text).has_value();
        state = machine_.next[state * machine_.n_classes + machine_.class_of[byte]];
        if (state < 2) return state == 1;
    }
    return machine_.next[state * machine_.n_classes] == 1;
}

std::optional<Pattern::Match> Pattern::search(std::string_view text, std::size_t from) const {
    // Kept from one search to the next: texts are short, and memory would take longer than they do.
    thread_local Threads kept[2];
    Threads *now = &kept[0], *next = &kept[1];
    now->fit(program_.size());
    next->fit(program_.size());
    std::optional<Match> best;
    const bool anchored = program_[0].op == Op::kBegin;
    now->clear();
    for (std::size_t position = from;;) {
        if (!best) follow(*now, 0, position, position, text.size());  // a match may begin here, if none began before
        if (now->list.empty() && (best || (anchored && position > 0))) return best;
        std::size_t after = position;
        const bool at_end = position == text.size();
        const char32_t code = at_end ? 0 : next_character(text, after);
        next->clear();
        for (const Threads::Thread& thread : now->list) {
            const Instruction& instruction = program_[thread.at];
            if (instruction.op == Op::kMatch) {
                best = Match{thread.start, position};
                break;  // what comes behind is worse
            }
            if (!at_end && matches(instruction, code)) follow(*next, thread.at + 1, thread.start, after, text.size());
        }
        if (at_end) return best;
        std::swap(now, next);
        position = after;
    }
}

bool Pattern::matches(const Instruction& instruction, char32_t code) const {
    return instruction.op == Op::kAny || (instruction.op == Op::kCharacter && instruction.x == code) ||
           (instruction.op == Op::kSet && sets_[instruction.x].has(code));
}

// Adds the state `at` and all that can be reached from it without reading a character.
void Pattern::follow(Threads& threads, std::uint32_t at, std::size_t start, std::size_t position,
                     std::size_t size) const {
    threads.stack.assign(1, at);
    while (!threads.stack.empty()) {
        const std::uint32_t state = threads.stack.back();
        threads.stack.pop_back();
        if (threads.seen[state] == threads.round) continue;
        threads.seen[state] = threads.round;
        const Instruction& instruction = program_[state];
        switch (instruction.op) {
            case Op::kSplit:
                threads.stack.push_back(instruction.y);
                threads.stack.push_back(instruction.x);
                break;
            case Op::kJump:
                threads.stack.push_back(instruction.x);
                break;
            case Op::kBegin:
                if (position == 0) threads.stack.push_back(state + 1);
                break;
            case Op::kEnd:
                if (position == size) threads.stack.push_back(state + 1);
                break;
            default:
                threads.list.push_back({state, start});
        }
    }
}

bool Pattern::Set::has(char32_t code) const {
    const bool inside =
        (kinds >> static_cast<unsigned>(kind_of(code)) & 1) != 0 ||
        std::ranges::any_of(ranges, [code](const auto& r) { return r.first <= code && code <= r.second; });
    return inside != negated;
}

}  // namespace tw
