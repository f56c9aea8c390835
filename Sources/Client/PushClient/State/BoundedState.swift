import FoundationEssentials
import Tasks

/// The app's state as clients use it: values of types, as JSON, and calls that return in time.
struct BoundedState: Sendable {
    private let state: any ClientState
    private let limit: Duration
    private let readCalls: BoundedCalls
    /// After an abandoned call, nothing more is saved until it has returned, because it could overwrite a newer value.
    let saveCalls: BoundedCalls

    init(_ state: any ClientState, for node: Node) {
        self.state = state
        limit = node.exchange.limits.state
        readCalls = BoundedCalls(clock: node.exchange.limitClock)
        saveCalls = BoundedCalls(maximumAbandonedCount: 1, clock: node.exchange.limitClock)
    }

    var deviceMark: String? { state.deviceMark }

    func data(named name: String) async throws -> Data? {
        try await answer(readCalls) { [state] in try await state.value(named: name) }
    }

    func save(_ data: Data, named name: String) async throws {
        try await answer(saveCalls) { [state] in try await state.save(data, named: name) }
    }

    func replace(_ old: Data?, by new: Data, named name: String) async throws -> Bool {
        try await answer(saveCalls) { [state] in try await state.replace(old, by: new, named: name) }
    }

    func value<Value: Decodable>(named name: String) async throws -> Value? {
        try await data(named: name).map { try Self.decode($0) }
    }

    func save(_ value: some Encodable, named name: String) async throws {
        try await save(Self.encode(value), named: name)
    }

    static func decode<Value: Decodable>(_ data: Data) throws -> Value {
        guard let value = try? JSONDecoder().decode(Value.self, from: data) else {
            throw PushClientError.stateUnusable(reason: "it holds what this program did not write")
        }
        return value
    }

    static func encode(_ value: some Encodable) throws -> Data {
        do {
            return try JSONEncoder().encode(value)
        } catch {
            throw PushClientError.stateUnusable(reason: "a value cannot be written as JSON")
        }
    }

    /// Returns the state's answer. A cancelled call throws `CancellationError`, whatever the state makes of it.
    private func answer<Answer: Sendable>(
        _ calls: BoundedCalls, _ body: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        do {
            return try await calls.call(atMost: limit, body)
        } catch {
            try Task.checkCancellation()
            switch error {
            case BoundedCalls.Failure.abandoned(let limit):
                throw PushClientError.stateUnusable(reason: "it did not return within \(limit.formattedSeconds)")
            case BoundedCalls.Failure.busy: throw PushClientError.stateUnusable(reason: "an earlier call has not returned")
            default: throw error as? PushClientError ?? PushClientError.stateUnusable(reason: PushClientError.reason(of: error))
            }
        }
    }
}

/// The names under which values are saved.
enum StateName {
    static func registration(of installationID: String, of identity: PublicKey) -> String {
        "registration/\(identity.compressedHex)/\(installationID)"
    }

    /// The ``LastInstallation``.
    static func lastInstallation(of identity: PublicKey) -> String { "registration/\(identity.compressedHex)" }

    static func unsentPushes(of sender: PublicKey?) -> String { "unsent/\(sender?.compressedHex ?? "anyone")" }

    /// - Parameter contact: The key that may use the tokens.
    static func devices(of owner: PublicKey, for contact: PublicKey?) -> String {
        "devices/\(contact?.compressedHex ?? "anyone")/\(owner.compressedHex)"
    }
}
