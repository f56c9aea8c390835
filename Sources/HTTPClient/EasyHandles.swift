import CLibCurl

/// Easy handles of libcurl for the transfers of one thread, each used again and again. With many requests under way, what libcurl allocates
/// anew for each takes a sixth of the processor time of a bare post (BENCHMARKS.md); alone and on one thread it does not show.
///
/// Not Sendable: it lives and dies on the thread of `TransferLoop`.
@safe final class EasyHandles {
    /// Handles that are kept for later: as many as a route has requests under way at first.
    private static let maximumIdleCount = 32

    private var idle: [UnsafeMutableRawPointer] = unsafe []

    deinit {
        unsafe idle.forEach { unsafe curl_easy_cleanup($0) }
    }

    /// - Returns: a handle with no options set; nil when memory is short.
    func take() -> UnsafeMutableRawPointer? { unsafe idle.popLast() ?? curl_easy_init() }

    /// Takes a handle back that is in no multi handle. Nothing of its request stays in it (curl_easy_reset(3)).
    func give(back easy: UnsafeMutableRawPointer) {
        guard unsafe idle.count < Self.maximumIdleCount else { return unsafe curl_easy_cleanup(easy) }
        unsafe curl_easy_reset(easy)
        unsafe idle.append(easy)
    }
}
