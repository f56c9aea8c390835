/// Secret bytes that are wiped with their last reference and never printed.
///
/// A class, so that memory contains a single copy however often it is passed on.
package final class SecretBytes: Sendable {
    // Written only in the initialiser and in `deinit`, when no other reference exists, so no other code sees a change.
    nonisolated(unsafe) private var storage: FixedBytes<32>

    /// Copies the bytes. The caller must wipe its own copy.
    package init(_ bytes: FixedBytes<32>) {
        unsafe storage = bytes
    }

    deinit {
        unsafe storage.wipe()
    }

    /// Lends the bytes for a computation, a key file or a database. The caller is responsible for any copy.
    package func withExposedBytes<Result: ~Copyable, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(storage.span)
    }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
    package var description: String { "<secret>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A key for AES-256-GCM: a topic's key (PROTOCOL.md §2), or the ECDH X coordinate of two parties (PROTOCOL.md §1).
package typealias SymmetricKey = SecretBytes
