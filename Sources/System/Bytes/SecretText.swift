/// A secret that is a text. Printing it, or a value that contains it, prints its type's name.
///
/// Two texts are equal if their bytes are. The comparison takes the same time wherever they differ.
package protocol SecretText: HoldsSecret, Hashable, Sendable, Decodable, ExpressibleByStringInterpolation {
    /// The secret itself, for the wire, the database and gorush only.
    var text: String { get }

    init(_ text: String)
}

extension SecretText {
    package init(stringLiteral text: String) { self.init(text) }

    package init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    package var isEmpty: Bool { text.isEmpty }

    package static func == (left: Self, right: Self) -> Bool { ConstantTime.equal(left.text.utf8, right.text.utf8) }

    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

/// The token by which APNs or FCM addresses an app on a device.
package struct DeviceToken: SecretText {
    package let text: String

    package init(_ text: String) { self.text = text }
}

/// The UUID that a sender presents to have a push delivered.
package struct AccessToken: SecretText {
    package let text: String

    package init(_ text: String) { self.text = text }
}
