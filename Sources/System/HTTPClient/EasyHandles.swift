import CLibCurl

/// A pool of libcurl's easy handles for a thread's transfers. With many requests in flight, allocating new handles takes a sixth of a bare
/// post's processor time (BENCHMARKS.md). With a single request it does not show.
///
/// The pool is not Sendable, because it stays on the thread of `TransferLoop`.
@safe final class EasyHandles {
    /// The maximum number of idle handles: as many as a route's initial window.
    private static let maximumIdleCount = 32

    private var idle: [UnsafeMutableRawPointer] = unsafe []

    deinit {
        unsafe idle.forEach { unsafe curl_easy_cleanup($0) }
    }

    /// - Returns: A handle with no options set, or nil if memory is short.
    func take() -> UnsafeMutableRawPointer? { unsafe idle.popLast() ?? curl_easy_init() }

    /// Takes back a handle that is in no multi handle, and resets everything that its request has set (curl_easy_reset(3)).
    func give(back easy: UnsafeMutableRawPointer) {
        guard unsafe idle.count < Self.maximumIdleCount else { return unsafe curl_easy_cleanup(easy) }
        unsafe curl_easy_reset(easy)
        unsafe idle.append(easy)
    }
}
