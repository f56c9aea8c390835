import FoundationEssentials

/// The values that clients save, as JSON.
extension ClientState {
    /// - Parameter installationID: The installation, or nil for the one created last.
    func plan(of identity: PublicKey, installationID: String?) async throws -> RegistrationPlan? {
        let last: String? = if installationID == nil { try await decoded(Self.name(ofLastInstallationOf: identity)) } else { nil }
        guard let installationID = installationID ?? last else { return nil }
        return try await decoded(Self.name(of: installationID, of: identity))
    }

    /// - Parameter isNew: Whether the plan was never saved before. It is then the one created last.
    package func save(_ plan: RegistrationPlan, of identity: PublicKey, isNew: Bool) async throws {
        try await encode(plan, named: Self.name(of: plan.installationID, of: identity))
        if isNew { try await encode(plan.installationID, named: Self.name(ofLastInstallationOf: identity)) }
    }

    /// - Parameter contact: The key that may use the tokens.
    func devices(of owner: PublicKey, for contact: PublicKey?) async throws -> KnownDevices? {
        try await decoded(Self.name(ofDevicesOf: owner, for: contact))
    }

    func save(_ devices: KnownDevices, of owner: PublicKey, for contact: PublicKey?) async throws {
        try await encode(devices, named: Self.name(ofDevicesOf: owner, for: contact))
    }

    private static func name(of installationID: String, of identity: PublicKey) -> String {
        "registration/\(identity.compressedHex)/\(installationID)"
    }

    private static func name(ofLastInstallationOf identity: PublicKey) -> String { "registration/\(identity.compressedHex)" }

    private static func name(ofDevicesOf owner: PublicKey, for contact: PublicKey?) -> String {
        "devices/\(contact?.compressedHex ?? "anyone")/\(owner.compressedHex)"
    }

    private func decoded<Value: Decodable>(_ name: String) async throws -> Value? {
        guard let data = try await answer({ try await value(named: name) }) else { return nil }
        guard let value = try? JSONDecoder().decode(Value.self, from: data) else {
            throw PushClientError.stateUnusable(reason: "it holds what this program did not write")
        }
        return value
    }

    private func encode(_ value: some Encodable, named name: String) async throws {
        try await answer { try await save(try JSONEncoder().encode(value), named: name) }
    }

    /// Returns the state's answer. A cancelled call throws `CancellationError`, whatever the state makes of it.
    private func answer<Answer>(_ body: () async throws -> Answer) async throws -> Answer {
        do {
            return try await body()
        } catch {
            try Task.checkCancellation()
            throw error as? PushClientError ?? PushClientError.stateUnusable(reason: "\(error)")
        }
    }
}
