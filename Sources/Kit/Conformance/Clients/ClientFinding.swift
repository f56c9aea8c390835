/// What is wrong with a client's message, and where 71 says so.
package struct ClientFinding: Sendable, Equatable {
    /// A message's layers, from the outside in.
    package enum Layer: String, Sendable {
        case topic
        case version
        case frame = "RFC 26 frame"
        case segment
        case signature
        case type
        case protobuf
        case encryption = "AES-GCM"
        case field
    }

    package let layer: Layer
    /// The field's name in 71, or nil for all other layers.
    package let field: String?
    /// Contains no token and no content.
    package let sentence: String
    /// The place in 71 or "beyond 71", and the place in this repository's pages.
    package let source: String
}

/// A message from a client to the server.
package struct JudgedMessage: Sendable, Equatable {
    package enum Kind: String, Sendable {
        case registration
        case unregistration
        case query
        case push = "push request"
        /// The message cannot be read far enough to tell.
        case unknown = "message"
    }

    package let kind: Kind
    /// The first wrong layer, and each wrong field, or empty if everything is right.
    package let findings: [ClientFinding]
}

/// The findings about a message.
struct ClientFindings {
    private(set) var all: [ClientFinding] = []

    /// Adds a finding about a layer, unless an outer layer is wrong already.
    mutating func add(_ layer: ClientFinding.Layer, _ sentence: String, _ place: Rule.Place?, _ reference: String) {
        guard all.isEmpty else { return }
        all.append(ClientFinding(layer: layer, field: nil, sentence: sentence, source: Rule.sources(place, reference)))
    }

    /// Adds a finding about a field.
    mutating func add(field: String, _ sentence: String, _ place: Rule.Place?, _ reference: String) {
        all.append(ClientFinding(layer: .field, field: field, sentence: sentence, source: Rule.sources(place, reference)))
    }

    /// Adds a finding about a field unless a condition holds.
    mutating func expect(
        _ isSo: Bool, field: String, _ sentence: @autoclosure () -> String, _ place: Rule.Place?, _ reference: String
    ) {
        if !isSo { add(field: field, sentence(), place, reference) }
    }
}
