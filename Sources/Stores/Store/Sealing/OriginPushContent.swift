/// The sealed part of a push of the Nextcloud origin.
package struct OriginPushContent: Sendable {
    package var subject: String
    package var signature: String

    package init(subject: String, signature: String) {
        self.subject = subject
        self.signature = signature
    }

    /// The fields of the sealed value.
    package var fields: [[UInt8]?] { [Array(subject.utf8), Array(signature.utf8)] }
}

extension RowSealing {
    /// Returns the sealed part of a push of the Nextcloud origin.
    ///
    /// - Parameter clear: The part that the row has in clear.
    package func open(
        _ sealed: [UInt8]?, orClear clear: OriginPushContent, in place: @autoclosure () -> SealedPlace
    ) throws(StoreError) -> OriginPushContent {
        guard let fields = try open(sealed, count: 2, in: place()) else { return clear }
        return OriginPushContent(
            subject: String(decoding: fields[0] ?? [], as: UTF8.self), signature: String(decoding: fields[1] ?? [], as: UTF8.self))
    }
}
