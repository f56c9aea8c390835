import Bytes
import Store

/// The steps of re-sealing, in their order. The raw value is stored.
enum ResealingStep: Int64, CaseIterable, StoredInteger, SQLValue {
    case registrations = 1
    case deadRegistrations = 2
    case pushes = 3
    case replies = 4
    case proxyDevices = 5
    case originKeys = 6
    case originPushes = 7
    case done = 10

    static let first = registrations

    /// The table whose ids are the positions of the step, or nil if its positions are keys of bytes.
    var tableWithID: String? {
        switch self {
        case .registrations: "registration"
        case .deadRegistrations: "dead_registration"
        case .pushes: "push"
        case .replies: "message"
        case .originPushes: "nextcloud_origin_push"
        case .proxyDevices, .originKeys, .done: nil
        }
    }

    var next: ResealingStep { Self.allCases.first { $0.rawValue > rawValue } ?? .done }
}

/// The key of a row as the stored position of a step.
protocol ResealingPosition: SQLValue, Sendable {
    /// Creates the key from the stored bytes. No bytes stand for the beginning.
    init(position: [UInt8])

    /// The bytes to store.
    var position: [UInt8] { get }
}

extension Int64: ResealingPosition {
    init(position: [UInt8]) { self.init(bigEndianBytes: position) }

    var position: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: self)
        return bytes
    }
}

extension [UInt8]: ResealingPosition {
    init(position: [UInt8]) { self = position }
    var position: [UInt8] { self }
}
