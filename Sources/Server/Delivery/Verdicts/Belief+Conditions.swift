import Store

/// What an operator is told about the attempts of a route.
extension Belief {
    /// Whether Apple or Google rejects gorush's credentials and accepts none.
    func rejectsCredentials(at now: Duration) -> Bool { credentials.areAll(at: now) }

    /// Why nothing is delivered, or nothing for a bundle id.
    func issues(at now: Duration) -> [RouteCondition] {
        var issues: [RouteCondition] = []
        if rejectsCredentials(at: now) {
            issues.append(RouteCondition(kind: .credentials, text: "\(provider) rejects gorush's credentials: \(credentials.words)"))
        } else if fails(at: now), let failures {
            let text = "\(provider) delivers nothing, not even to devices that have worked: \(failures.words)"
            issues.append(RouteCondition(kind: .failing, text: text))
        }
        let topics = refusedTopics.filter { now - $0.value.time < Self.validity }.sorted { $0.key < $1.key }
        return issues
            + topics.map { RouteCondition(kind: .bundleID($0.key), text: "Apple rejects the bundle id \($0.key): \($0.value.words)") }
    }

    /// The conditions that an operator should know about while the route does not fail.
    ///
    /// - Parameter troubledCount: How many devices that have worked have been in trouble for a minute.
    func warnings(at now: Duration, troubledCount: Int) -> [RouteCondition] {
        guard !fails(at: now), !rejectsCredentials(at: now) else { return [] }
        var warnings: [RouteCondition] = []
        func warn(_ kind: RouteCondition.Kind, _ text: String) { warnings.append(RouteCondition(kind: kind, text: text)) }
        if credentials.areInTurn(at: now) {
            warn(
                .twoKeys,
                "\(provider) refuses gorush's credentials and accepts them in turn: two gorush behind one address? \(credentials.words)")
        }
        if let turnedAway, now - turnedAway.first >= Self.interval, now - turnedAway.last < Self.validity {
            warn(
                .turnedAway,
                "gorush answers \(turnedAway.status) to all pushes, while its configuration can be read: a proxy in front of it does not "
                    + "pass them on")
        } else if let failures, isLong(failures, at: now) {
            warn(
                .nothingDelivered,
                "\(provider) has delivered nothing for a minute or more; \(counted(failures.devices.count, "device")) that worked before "
                    + "failed: \(failures.words)")
        } else if let newFailures, isLong(newFailures, at: now), newFailures.devices.count >= minimumNewDeviceCount {
            warn(
                .newDevices,
                "\(provider) has delivered nothing for a minute or more, and refused \(counted(newFailures.devices.count, "device")) that "
                    + "never worked: \(newFailures.words)")
        }
        warnings += warningsAboutTokens(at: now)
        let hasRecovered = recoveredAt.map { now - $0 >= Self.interval } ?? true
        if hasRecovered, troubledCount >= Self.minimumDeviceCount, troubledCount >= recent.count / Self.troubledShare {
            warn(
                .manyInTrouble, "\(troubledCount) devices that worked before have got nothing for a minute or more, although others have")
        }
        if let tooLargeAt, now - tooLargeAt < Self.validity {
            warn(.tooLarge, "a proxy in front of gorush rejects a push as too large (413); allow bodies of 16 KB")
        }
        return warnings
    }

    /// What the words of Apple or Google about device tokens suggest.
    private func warningsAboutTokens(at now: Duration) -> [RouteCondition] {
        var warnings: [RouteCondition] = []
        if refused.areInTurn(at: now) {
            let text =
                "\(provider) refuses device tokens and accepts them in turn: two gorush behind one address, with different projects or "
                + "environments?"
            warnings.append(RouteCondition(kind: .twoProjects, text: text))
        } else if isInDoubt {
            let text =
                "\(provider) refuses \(refusedRecentCount) of \(recent.sample.count) devices that got a push in the last two days: a wrong "
                + "project or environment looks like that; none of them is unregistered meanwhile"
            warnings.append(RouteCondition(kind: .doubt, text: text))
        }
        let goneCount = gone.count(at: now)
        if goneCount >= Self.minimumDeviceCount {
            let count = recent.count + goneCount
            if Self.doubtfulShare * goneCount >= count {
                let text =
                    "\(provider) has called \(goneCount) of \(count) devices that got a push in the last two days gone, "
                    + "within ten minutes, "
                    + "and they are unregistered: look at them with pushctl dead-tokens list; if they are not gone, pushctl dead-tokens "
                    + "restore brings them back"
                warnings.append(RouteCondition(kind: .gone, text: text))
            }
        }
        return warnings
    }

    /// How many devices that never worked have to be refused. Where nothing was ever delivered, the first one shows a wrong setting.
    private var minimumNewDeviceCount: Int { deliveredBundleIDs.isEmpty ? 1 : Self.minimumDeviceCount }

    private func isLong(_ failures: Failures, at now: Duration) -> Bool {
        now - failures.first >= Self.interval && now - failures.last < Self.validity
    }

    /// Returns the time at which a conclusion changes without another attempt, or nil if none does.
    func nextChange(after now: Duration) -> Duration? {
        var times = credentials.changes
        for failures in [failures, newFailures].compactMap(\.self) {
            times += [failures.first + Self.interval, failures.last + Self.validity]
        }
        if let turnedAway { times += [turnedAway.first + Self.interval, turnedAway.last + Self.validity] }
        return times.filter { $0 > now }.min()
    }
}

/// Returns a number with a noun.
func counted(_ count: Int, _ noun: String, _ plural: String = "s") -> String { "\(count) \(noun)\(count == 1 ? "" : plural)" }
