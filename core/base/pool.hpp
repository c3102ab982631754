// Scratch spaces that calls borrow and give back, so that the next call finds them as large as they need to be. Several
// threads may borrow at the same time.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

namespace tw {

template <class Space>
class Pool {
public:
    class Borrowed {
    public:
        explicit Borrowed(Pool& owner) : owner_(owner) {
            const std::lock_guard guard(owner.lock_);
            if (owner.free_.empty()) {
                owner.free_.reserve(owner.n_spaces_ + 1);  // so that giving it back cannot fail
                space_ = std::make_unique<Space>();
                ++owner.n_spaces_;
            } else {
                space_ = std::move(owner.free_.back());
                owner.free_.pop_back();
            }
        }
        ~Borrowed() {
            if (std::uncaught_exceptions() > exceptions_) *space_ = {};  // left by a call that did not come to its end
            const std::lock_guard guard(owner_.lock_);
            owner_.free_.push_back(std::move(space_));
        }
        Borrowed(const Borrowed&) = delete;
        Borrowed& operator=(const Borrowed&) = delete;
        Space& operator*() const { return *space_; }

    private:
        Pool& owner_;
        std::unique_ptr<Space> space_;
        int exceptions_ = std::uncaught_exceptions();
    };

private:
    std::mutex lock_;
    std::vector<std::unique_ptr<Space>> free_;
    std::size_t n_spaces_ = 0;  // free or in use
};

}  // namespace tw
