import Bytes
import FoundationEssentials
import Tasks

/// What the state holds of a client's plan.
struct SavedPlan: Sendable {
    /// A plan, and its bytes in the state.
    struct Version: Sendable {
        let plan: RegistrationPlan
        let data: Data
    }

    /// How the installation is known to the state.
    enum Installation: Sendable {
        /// The id was made up here, in place of another device's if a backup has brought that. Clients that share a state have to agree on
        /// an id.
        case new(replacing: Data?)
        /// The id was given by the app. The first save makes it the last installation's.
        case given
        case known
    }

    /// The version that was read or saved last, or nil before the first.
    var current: Version?
    /// The version whose save failed or was abandoned: the state may have it.
    var uncertain: Version?
    var installation = Installation.known
    /// How often another client's plan replaced this plan. Changes that were not saved before are then lost.
    var adoptionCount = 0
}

extension RegisteringClient {
    /// How often a change is made again after another client has saved another plan: more often than two clients meet by chance.
    private static let maximumRaceCount = 20

    /// Reads an installation's plan. Nil means the installation that was created last.
    static func load(
        _ installationID: String?, of identity: Identity, from state: BoundedState, using random: inout Randomness
    ) async throws -> (RegistrationPlan, SavedPlan) {
        let owner = identity.publicKey
        // A device whose state is lost gets the same id again, and takes over its own registration.
        let newID = state.deviceMark.map(identity.derivedInstallationID(onDevice:)) ?? UniversallyUniqueID.random(using: &random)
        var saved = SavedPlan()
        var last: LastInstallation?
        if installationID == nil, let data = try await state.data(named: StateName.lastInstallation(of: owner)) {
            let stored: LastInstallation = try BoundedState.decode(data)
            if stored.isForeign(to: state.deviceMark) {
                saved.installation = .new(replacing: data)
                return (RegistrationPlan(installationID: newID), saved)
            }
            last = stored.marked(state.deviceMark)
            if last != stored {
                _ = try await state.replace(data, by: BoundedState.encode(last), named: StateName.lastInstallation(of: owner))
            }
        }
        guard let known = installationID ?? last?.id else {
            saved.installation = .new(replacing: nil)
            return (RegistrationPlan(installationID: newID), saved)
        }
        guard let data = try await state.data(named: StateName.registration(of: known, of: owner)) else {
            saved.installation = installationID == nil ? .known : .given
            return (RegistrationPlan(installationID: known), saved)
        }
        let plan: RegistrationPlan = try BoundedState.decode(data)
        saved.current = SavedPlan.Version(plan: plan, data: data)
        return (plan, saved)
    }

    /// Changes the plan, and returns after the change is saved. If another client has saved another plan meanwhile, the change is made to
    /// that plan.
    ///
    /// The change is made and saved even if the task is cancelled. The call then throws `CancellationError`.
    @discardableResult
    func update<Value: Sendable>(
        _ change: @escaping @Sendable (inout RegistrationPlan, inout Randomness) throws -> Value
    ) async throws -> Value {
        let first = (value: try change(&plan, &random), adoptionCount: saved.adoptionCount)
        return try await inOrder { client in try await client.save(change, first) }
    }

    /// Changes the plan like ``update(_:)``, after it has read what other clients have saved.
    func reloadAndUpdate(_ change: @escaping @Sendable (inout RegistrationPlan, inout Randomness) throws -> Void) async throws {
        try await inOrder { client in
            try await client.adoptStored()
            try await client.save(change, nil)
        }
    }

    /// Reads what other clients have saved.
    func reload() async throws {
        try await inOrder { client in try await client.adoptStored() }
    }

    private func adoptStored() async throws {
        let stored = try await state.data(named: registrationName)
        if let stored, stored != saved.current?.data, stored != saved.uncertain?.data { try adopt(stored) }
    }

    /// Saves a change, and makes it again as often as another plan has replaced this client's.
    private func save<Value>(
        _ change: @Sendable (inout RegistrationPlan, inout Randomness) throws -> Value, _ first: (value: Value, adoptionCount: Int)?
    ) async throws -> Value {
        var made = first
        for _ in 0..<Self.maximumRaceCount {
            let last: (value: Value, adoptionCount: Int)
            if let made, made.adoptionCount == saved.adoptionCount {
                last = made
            } else {
                last = (try change(&plan, &random), saved.adoptionCount)
            }
            if try await save() { return last.value }
            made = last
        }
        throw PushClientError.stateUnusable(reason: "other clients change it all the time")
    }

    /// Calls the state after all earlier calls. The call goes on if the task is cancelled.
    private func inOrder<Value: Sendable>(
        _ body: @escaping @Sendable (isolated RegisteringClient) async throws -> Value
    ) async throws -> Value {
        let outcome = Monitor<Result<Value, any Error>?>(nil)
        stateCall = Task { [before = stateCall] in
            await before?.value
            let result: Result<Value, any Error>
            do {
                result = .success(try await body(self))
            } catch {
                result = .failure(error)
            }
            outcome.update { $0 = result }
            changes.notify()
        }
        guard let result = await outcome.wait(for: { $0 }) else { throw CancellationError() }
        return try result.get()
    }

    /// Saves the plan unless the state has it.
    ///
    /// - Returns: Whether the state has it now. Otherwise another client has saved a different value, which is this client's from now on.
    private func save() async throws -> Bool {
        if let uncertain = saved.uncertain {
            if try await state.data(named: registrationName) == uncertain.data { saved.current = uncertain }
            saved.uncertain = nil
        }
        guard plan != saved.current?.plan else { return true }
        if case .new(let replaced) = saved.installation, !(try await claimInstallation(replacing: replaced)) { return false }
        let next = SavedPlan.Version(plan: plan, data: try BoundedState.encode(plan))
        saved.uncertain = next
        let hasReplaced = try await state.replace(saved.current?.data, by: next.data, named: registrationName)
        saved.uncertain = nil
        guard hasReplaced else {
            if let stored = try await state.data(named: registrationName) { try adopt(stored) } else { saved.current = nil }
            return false
        }
        saved.current = next
        if case .given = saved.installation {
            let last = LastInstallation(id: next.plan.installationID, mark: state.deviceMark)
            try await state.save(last, named: StateName.lastInstallation(of: publicKey))
            saved.installation = .known
        }
        return true
    }

    /// Saves the new installation for all clients that start without an installation, unless another client was first.
    ///
    /// - Returns: Whether the installation is this client's. Otherwise the client has taken over the saved installation.
    private func claimInstallation(replacing replaced: Data?) async throws -> Bool {
        let name = StateName.lastInstallation(of: publicKey)
        let own = LastInstallation(id: plan.installationID, mark: state.deviceMark)
        let isFirst = try await state.replace(replaced, by: BoundedState.encode(own), named: name)
        let last: LastInstallation? = isFirst ? own : try await state.value(named: name)
        guard let installationID = last?.id else {
            saved.installation = .new(replacing: nil)
            return false
        }
        saved.installation = .known
        guard installationID != plan.installationID else { return true }
        if let stored = try await state.data(named: StateName.registration(of: installationID, of: publicKey)) {
            try adopt(stored)
        } else {
            plan = RegistrationPlan(installationID: installationID)
            saved.adoptionCount += 1
        }
        return false
    }

    private func adopt(_ stored: Data) throws {
        plan = try BoundedState.decode(stored)
        saved.current = SavedPlan.Version(plan: plan, data: stored)
        saved.adoptionCount += 1
    }

    private var registrationName: String { StateName.registration(of: plan.installationID, of: publicKey) }
}
