/// The sealed part of a Nextcloud origin push.
package struct OriginPushContent: Sendable {
    package var subject: String
    package var signature: String

    package init(subject: String, signature: String) {
        self.subject = subject
        self.signature = signature
    }

    /// The sealed value's fields.
    package var fields: [[UInt8]?] { [Array(subject.utf8), Array(signature.utf8)] }
}

extension RowSealing {
    /// Opens the sealed part of a Nextcloud origin push.
    package func originPushContent(_ sealed: [UInt8]?, in place: @autoclosure () -> SealedPlace) throws(StoreError) -> OriginPushContent {
        let fields = try open(sealed, count: 2, in: place())
        return OriginPushContent(
            subject: String(decoding: fields[0] ?? [], as: UTF8.self), signature: String(decoding: fields[1] ?? [], as: UTF8.self))
    }
}
