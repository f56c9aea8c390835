import Bytes
import Wire

/// A reply to a request, decoded, with the message in which it arrived.
struct ServerReply<Payload: WireMessage>: Sendable {
    let payload: Payload
    let received: Mailbox.Received
    /// The id by which the reply should name its request.
    let requestID: [UInt8]
}

/// A failed expectation, unless it is what the reference does.
func expect(_ isSo: Bool, _ sentence: @autoclosure () -> String, departure: String? = nil, if isDeparture: Bool = false) throws {
    guard !isSo else { return }
    if isDeparture, let departure { throw Finding.departs(departure) }
    throw Finding.fails(sentence())
}

// MARK: - Registrations

extension ServerReply<PushNotificationRegistrationResponse> {
    func expectSuccess() throws {
        try expect(payload.success, "expected success, received \(outcome)")
        try expect(payload.error == .unknown, "a success carries the error \(payload.error.name)")
    }

    /// - Parameters:
    ///   - errors: The accepted errors.
    ///   - referenceError: The error of the reference, where it differs.
    ///   - acceptedByReference: Whether the reference accepts the registration.
    func expectRefusal(
        _ errors: RegistrationError..., referenceError: RegistrationError? = nil, acceptedByReference: Bool = false
    ) throws {
        let expected = errors.map(\.name).joined(separator: " or ")
        guard !payload.success else {
            return try expect(
                false, "expected \(expected), received success", departure: "accepted, as by the reference", if: acceptedByReference)
        }
        try expect(
            errors.contains(payload.error), "expected \(expected), received \(payload.error.name)",
            departure: "rejected with \(payload.error.name), as by the reference", if: payload.error == referenceError)
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
    /// Returns the only info of the response.
    func onlyInfo() throws -> PushNotificationQueryInfo {
        try expect(payload.success, "expected a query response with success, received one without")
        guard payload.info.count == 1 else { throw Finding.fails("expected 1 info, received \(payload.info.count)") }
        return payload.info[0]
    }
}

// MARK: - Push requests

extension ServerReply<PushNotificationResponse> {
    /// Expects one report for each notification, in order; nil is a success.
    func expectReports(_ errors: ReportError?..., departure: String? = nil, if isDeparture: Bool = false) throws {
        let reported = payload.reports.map { $0.success ? nil : Optional($0.error) }
        try expect(
            reported == errors, "expected the reports \(Self.names(errors)), received \(Self.names(reported))", departure: departure,
            if: isDeparture)
    }

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
