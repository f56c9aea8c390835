import Bytes
import Envelope
import StatusCrypto
import Wire

/// A reply to a request, decoded, with the message in which it arrived.
struct ServerReply<Payload: WireMessage>: Sendable {
    let payload: Payload
    let received: Mailbox.Received
    /// The id by which the reply should name its request.
    let requestID: [UInt8]
    /// The time before the request was sent.
    let sentAt: Timestamp
    let play: Play
}

/// A failed expectation is a finding.
func expect(_ isSo: Bool, _ sentence: @autoclosure () -> String) throws {
    guard isSo else { throw Finding.fails(sentence()) }
}

// MARK: - Registrations

extension ServerReply<PushNotificationRegistrationResponse> {
    func expectSuccess() throws {
        try expect(payload.success, "expected success, received \(outcome)")
        try expect(payload.error == .unknown, "a success carries the error \(payload.error.name)")
    }

    /// - Parameters:
    ///   - errors: The accepted errors.
    ///   - departure: What the reference does instead.
    ///   - referenceError: The reference's error, or nil if it accepts the registration.
    func expectRefusal(
        _ errors: RegistrationError..., orDeparts departure: Departure? = nil, referenceError: RegistrationError? = nil
    ) throws {
        let isSo = !payload.success && errors.contains(payload.error)
        let sentence = "expected \(errors.map(\.name).joined(separator: " or ")), received \(outcome)"
        guard let departure else { return try expect(isSo, sentence) }
        try play.expect(
            isSo, orDeparts: departure, if: referenceError.map { !payload.success && payload.error == $0 } ?? payload.success, sentence)
    }

    private var outcome: String { payload.success ? "success" : payload.error.name }
}

extension RegistrationError {
    var name: String {
        switch self {
        case .unknown: "UNKNOWN_ERROR_TYPE"
        case .malformedMessage: "MALFORMED_MESSAGE"
        case .versionMismatch: "VERSION_MISMATCH"
        case .unsupportedTokenType: "UNSUPPORTED_TOKEN_TYPE"
        case .internalError: "INTERNAL_ERROR"
        default: "error \(rawValue)"
        }
    }
}

// MARK: - Queries

extension ServerReply<PushNotificationQueryResponse> {
    /// Returns the info about an owner's device. Otherwise only devices that the owner's history has left may have an info.
    func info(of owner: Client) throws -> PushNotificationQueryInfo {
        try expect(payload.success, "expected a query response with success, received one without")
        let expected = [owner.installationID] + (owner.play.history == .second ? [owner.former.installationID] : [])
        try expect(
            payload.info.count == expected.count,
            "expected \(expected.count) \(expected.count == 1 ? "info" : "infos"), received \(payload.info.count)")
        guard let info = payload.info.first(where: { $0.installationID == owner.installationID }) else {
            throw Finding.fails("another installation_id than the registered one")
        }
        return info
    }
}

// MARK: - Push requests

extension ServerReply<PushNotificationResponse> {
    /// Expects a report for each notification, in order. Nil is a success.
    func expectReports(_ errors: ReportError?...) throws {
        try expect(reported == errors, "expected the reports \(Self.names(errors)), received \(Self.names(reported))")
    }

    /// The reported errors. Nil is a success.
    var reported: [ReportError?] { payload.reports.map { $0.success ? nil : Optional($0.error) } }

    private static func names(_ errors: [ReportError?]) -> String {
        "[" + errors.map { $0.map(\.name) ?? "success" }.joined(separator: ", ") + "]"
    }
}

extension ReportError {
    var name: String {
        switch self {
        case .unknown: "UNKNOWN_ERROR_TYPE"
        case .wrongToken: "WRONG_TOKEN"
        case .internalError: "INTERNAL_ERROR"
        case .notRegistered: "NOT_REGISTERED"
        default: "error \(rawValue)"
        }
    }
}
