/// Pushes to phones that get one, while attempts get no answer.
///
/// - Parameter rate: Pushes to other phones in a second.
private func lonely(_ count: Int, until end: Double, rate: Double = 0, restartAt: Double? = nil) -> SetUp {
    return { route in
        route.provider = { now, _, _, _ in 100 <= now && now < end ? (.silent, 60) : fine }
        for index in 0..<count { route.push("q\(index)", at: 100 + Double(index), provenAt: worked) }
        if rate > 0 { route.traffic(to: (0..<30).map { "r\($0)" }, rate, until: end + 600) }
        if let restartAt { route.restart(at: restartAt) }
    }
}

let mayHaveBeenSent: [Situation] = silences + lostAnswers + besideStrangers + brokenConnections

private let silences: [Situation] =
    [30.0, 330, 1_800, 3_600, 19_800].flatMap { (duration: Double) -> [Situation] in
        let (until, end) = (4_100 + duration, 160 + duration)
        let lonelyLate = max(150, (300 * duration).squareRoot() + 150)
        return [
            Situation(
                name: "one phone, one push, no answer for \(duration) s", until: until, end: end, late: lonelyLate,
                setUp: lonely(1, until: 100 + duration)),
            Situation(
                name: "20 phones, a push each, no answer for \(duration) s, others after it", until: until,
                isLong: duration > 2_000, end: end, late: 400, told: .either,
                setUp: lonely(20, until: 100 + duration, rate: 0.2)),
            Situation(
                name: "20 phones, a push each, no answer for \(duration) s, a restart 60 s after it", until: until,
                isLong: duration > 2_000, end: end, late: 400, told: .either,
                setUp: lonely(20, until: 100 + duration, rate: 0.2, restartAt: 220 + duration)),
        ]
    }

private let lostAnswers: [Situation] =
    [
        Situation(name: "a push that rings and never answers, for a day", until: 86_400, isHealthy: { _, _ in false }, rings: 35) {
            $0.provider = { _, _, _, _ in (.rings, 1) }
            $0.push("p0", at: 5, provenAt: worked)
        },
        Situation(
            name: "a day of answers that are lost, 20 phones, a push an hour", until: 86_400, isLong: true, isHealthy: { _, _ in false },
            losses: [.expired], told: .either, rings: 35
        ) {
            $0.provider = { _, _, _, _ in (.rings, 1) }
            $0.traffic(to: Array(phones[..<20]), 20 / 3_600, until: 86_400)
        },
        Situation(
            name: "a day of answers that are lost, a restart each ten minutes", until: 86_400, isLong: true, isHealthy: { _, _ in false },
            losses: [.expired], told: .either, rings: 35
        ) {
            $0.provider = { _, _, _, _ in (.rings, 1) }
            $0.traffic(to: Array(phones[..<20]), 20 / 3_600, until: 86_400)
            for time in stride(from: 600.0, to: 86_400, by: 600) { $0.restart(at: time) }
        },
        Situation(name: "half of the answers are lost, 20 phones", until: 10_000, isHealthy: { _, _ in false }, rings: 12) {
            $0.provider = { _, _, _, random in chance(0.5, &random) ? (.rings, 1) : fine }
            $0.traffic(to: Array(phones[..<20]), 1 / 10, until: 7_200)
        },
        Situation(
            name: "a poisoned push that rings, its phone gets others", until: 86_400, isLong: true,
            isHealthy: { _, kind in kind == "ok" }, within: 10, rings: 40
        ) {
            $0.provider = { _, _, kind, _ in kind == "poison" ? (.rings, 1) : fine }
            $0.push("p0", at: 5, kind: "poison", provenAt: worked)
            $0.traffic(to: ["p0"], 1 / 60, from: 10, until: 86_000)
        },
        Situation(name: "half hang for 1 h, a push each", until: 9_000, workers: 96, end: 3_760, late: 310, told: .either) {
            $0.provider = odd(.silent, 60, until: 3_700)
            for index in 0..<300 { $0.push(phones[index], at: 100 + 2 * Double(index), provenAt: worked) }
        },
    ]

private let besideStrangers: [Situation] =
    [(60, 6.0, 400.0), (300, 25.0, 700.0)].map { (count: Int, late: Double, until: Double) -> Situation in
        Situation(
            name: "\(count) of a stranger, once proven, die when a phone is in trouble for 30 s", until: until, workers: 96,
            isHealthy: { device, _ in device == "p0" }, isDead: starts("z"), end: 132, late: late, told: .either
        ) {
            $0.provider = { now, device, _, _ in
                device.first == "z" && now > 100 ? (.device, 0.1) : device == "p0" && 102 <= now && now < 132 ? (.passing, 0.1) : fine
            }
            for index in 0..<count { $0.push("z\(index)", at: 100.1, provenAt: worked) }
            $0.push("p0", at: 102, provenAt: worked)
        }
    }

private let brokenConnections: [Situation] =
    [
        Situation(
            name: "3,000 new tokens of a stranger, refused in 0.15 s, phones that worked", until: 700, isLong: true,
            isHealthy: starts("n"), isDead: starts("t"), within: 2
        ) {
            $0.provider = { _, device, _, _ in device.first == "t" ? (.device, 0.15) : fine }
            for index in 0..<3_000 { $0.push(tokens[index], at: 60) }
            for index in 0..<60 { $0.push("n\(index)", at: 60.5 + Double(index), provenAt: worked) }
        },
        Situation(
            name: "gorush is killed with attempts in flight, away for 1 s", until: 300, end: 101, late: 5, rings: 2,
            setUp: everybody(phones, 20, 200) { now, _, _, _ in
                99.7 <= now && now < 100 ? (.broken, 0.3) : 100 <= now && now < 101 ? (.away, 0.01) : fine
            }),
        Situation(
            name: "a proxy breaks every connection each 10 s, for 5 min", until: 1_500, isLong: true, end: 400, late: 160, rings: 4,
            setUp: everybody(phones, 20, 500) { now, _, _, _ in
                100 <= now && now < 400 && now.truncatingRemainder(dividingBy: 10) > 9.8 ? (.broken, 0.2) : fine
            }),
        Situation(
            name: "a proxy breaks every connection, each push arrives", until: 86_400, isLong: true, isHealthy: { _, _ in false },
            losses: [.expired], told: .either, rings: 37,
            setUp: everybody(Array(phones[..<20]), 0.1, 3_600) { _, _, _, _ in (.broken, 0.2) }
        ),
    ]

// MARK: Calls

/// Pushes to phones, and honest calls.
private func calls(_ provider: @escaping RouteSimulation.Provider, _ others: @escaping SetUp = { _ in }) -> SetUp {
    return { route in
        route.provider = provider
        route.traffic(to: phones, 1, until: 900)
        for index in 0..<160 { route.call("p\(index % 50)", at: 30 + 5 * Double(index), provenAt: worked) }
        others(&route)
    }
}

private let isCall: Situation.Choice = { device, kind in device.first == "p" && kind == "call" }
private let isPush: Situation.Choice = { device, kind in device.first == "p" && kind != "call" }

let calls: [Situation] = manyCalls + hangingCalls + callsBesideHanging + callsOfOneHanging + callsInOutages

private let manyCalls: [Situation] =
    [
        Situation(
            name: "10,000 calls to one phone in 30 s", until: 1_000, isLong: true, isHealthy: starts("p"), losses: [.missedCall],
            setUp: calls({ _, _, _, _ in fine }) { route in
                for index in 0..<10_000 { route.call("z0", at: 60 + Double(index) * 0.003, provenAt: worked) }
            })
    ]

/// A phone that hangs holds a worker of gorush for a minute, so a gorush with fewer workers than such phones serves nobody else, whatever
/// the server does: with one worker no situation holds, and phones that have worked hang once before that is known of them.
private let hangingCalls: [Situation] =
    [(4, 32), (4, 2), (4, 4), (4, 7), (20, 48), (20, 96), (500, 48), (500, 96)].flatMap { (count: Int, workers: Int) -> [Situation] in
        (count < 64 && workers <= count ? [nil] : [nil, worked]).map { (provenAt: Double?) -> Situation in
            let isHealthy: Situation.Choice = count < 64 || provenAt == nil ? starts("p") : isPush
            return Situation(
                name:
                    "\(count) phones of a stranger\(provenAt == nil ? "" : " that worked") hang, 4 calls a minute each, \(workers) workers",
                until: 1_000, isLong: count > 20, workers: workers, isHealthy: isHealthy, within: 2,
                losses: [.missedCall],
                setUp: calls({ _, device, _, _ in device.first == "t" ? (.silent, 60) : fine }) { route in
                    for index in 0..<50 * count {
                        route.call(tokens[index % count], at: 60 + Double(index) * 15 / Double(count), provenAt: provenAt)
                    }
                })
        }
    }

private let callsBesideHanging: [Situation] =
    [4, 32].map { (workers: Int) -> Situation in
        Situation(
            name: "500 phones that worked hang, honest calls, \(workers) workers", until: 1_000, isLong: true, workers: workers,
            isHealthy: isCall, told: .either,
            setUp: calls({ _, device, _, _ in device.first == "t" ? (.silent, 60) : fine }) { route in
                for index in 0..<2_500 { route.push(tokens[index % 500], at: 60 + Double(index) * 0.03, provenAt: worked) }
            })
    }

private let callsOfOneHanging: [Situation] =
    [5, 8, 32].map { (workers: Int) -> Situation in
        Situation(
            name: "an honest phone hangs, 4 strangers call and hang, \(workers) workers", until: 1_000, workers: workers, isHealthy: isCall,
            losses: [.missedCall],
            setUp: calls({ _, device, _, _ in "ht".contains(device.first ?? "p") ? (.silent, 60) : fine }) { route in
                for index in 0..<80 { route.push("h0", at: 31 + 10 * Double(index), provenAt: worked) }
                for index in 0..<110 {
                    route.call("t\(index % 4)", at: 60 + Double(index) * 7.5, provenAt: index % 2 == 1 ? nil : worked)
                }
            })
    }

private let callsInOutages: [Situation] =
    [
        Situation(
            name: "calls while Apple refuses for 20 s", until: 1_000, isHealthy: isCall, losses: [.missedCall],
            setUp: calls(wrong(300, 320, .passing, 0.1))),
        Situation(
            name: "calls while gorush is away for 20 s", until: 1_000, isHealthy: isCall, within: 21,
            setUp: calls(wrong(300, 320, .away, 0.01))),
    ]
