import Foundation
import TestSupport
import Testing

@testable import Delivery

/// Situations of hours and days, with real values under a clock: devices that can be reached ring at once whatever happens to others,
/// nothing accepted is lost, and nobody innocent is given up.
@Suite struct SituationTests {
    @Test(arguments: everybodyInTrouble.filter(isRun)) func `everybody is in trouble`(_ situation: Situation) async throws {
        try await situation.check()
    }

    @Test(arguments: someInTrouble.filter(isRun)) func `some are in trouble, and others ring`(_ situation: Situation) async throws {
        try await situation.check()
    }

    @Test(arguments: newAndStrange.filter(isRun)) func `new phones and strangers`(_ situation: Situation) async throws {
        try await situation.check()
    }

    @Test(arguments: mayHaveBeenSent.filter(isRun)) func `pushes that may have been sent`(_ situation: Situation) async throws {
        try await situation.check()
    }

    @Test(arguments: calls.filter(isRun)) func `calls beside pushes`(_ situation: Situation) async throws {
        try await situation.check()
    }

    /// Takes minutes in a debug build.
    @Test(.enabled(if: runsAll), arguments: manyDevices) func `many devices`(_ situation: Situation) async throws {
        try await situation.check()
    }
}

private let runsAll = ProcessInfo.processInfo.environment["DELIVERY_SITUATIONS"] == "all"

private func isRun(_ situation: Situation) -> Bool { runsAll || !situation.isLong }

private let everybodyInTrouble: [Situation] =
    [
        Situation(
            name: "one phone, dead", until: 7_200, isHealthy: { _, _ in false },
            setUp: everybody(["a"], 1 / 600, 7_200) { _, _, _, _ in (.device, 0.1) }),
        Situation(
            name: "300 phones, refused for 6 s", until: 2_500, end: 306, late: 4,
            setUp: everybody(phones, 2, 2_400, wrong(300, 306, .device, 0.1))),
        Situation(
            name: "300 phones, refused for 60 s", until: 2_500, end: 360, late: 8,
            setUp: everybody(phones, 2, 2_400, wrong(300, 360, .device, 0.1))),
        Situation(
            name: "300 phones, refused for 11 min", until: 2_500, end: 960, late: 10, told: .between(360, 375),
            setUp: everybody(phones, 2, 2_400, wrong(300, 960, .device, 0.1))),
        Situation(
            name: "503 for all, 60 s (7 s each)", until: 2_700, end: 360, late: 26,
            setUp: everybody(phones, 2, 2_400, wrong(300, 360, .passing, 7))),
        Situation(
            name: "503 for all, 660 s (7 s each)", until: 2_700, end: 960, late: 86, told: .between(360, 380),
            setUp: everybody(phones, 2, 2_400, wrong(300, 960, .passing, 7))),
        Situation(
            name: "503 for all, each holds a worker 240 s, 11 min", until: 3_300, end: 1_200, late: 120, told: .between(540, 620),
            setUp: everybody(phones, 2, 2_400, wrong(300, 960, .passing, 240))),
        Situation(
            name: "Apple hangs for 30 min", until: 4_200, end: 2_160, late: 610, told: .between(420, 480),
            setUp: everybody(phones, 2, 3_600, wrong(300, 2_100, .silent, 60))),
        Situation(
            name: "credentials refused for 1 h", until: 5_000, isLong: true, end: 3_900, late: 30, told: .between(360, 420),
            setUp: everybody(phones, 2, 4_800, wrong(300, 3_900, .credentials, 0.2))),
        Situation(
            name: "gorush away for 1 h", until: 5_000, isLong: true, end: 3_900, late: 20,
            setUp: everybody(phones, 2, 4_800, wrong(300, 3_900, .away, 0.01))),
        Situation(
            name: "wrong project for 1 h", until: 7_800, isLong: true, end: 4_200, late: 10, told: .between(660, 720),
            setUp: everybody(phones, 0.5, 7_200, wrong(600, 4_200, .device, 0.1))),
        Situation(
            name: "one proven phone, refused 1 h", until: 9_000, end: 4_200, late: 370,
            setUp: everybody(["a"], 1 / 300, 7_200, wrong(600, 4_200, .device, 0.1))),
        Situation(
            name: "two proven phones, refused 1 h", until: 9_000, end: 4_200, late: 370,
            setUp: everybody(["a", "b"], 1 / 150, 7_200, wrong(600, 4_200, .device, 0.1))),
        Situation(
            name: "two proven phones, hang 1 h", until: 9_000, end: 4_260, late: 670,
            setUp: everybody(["a", "b"], 1 / 150, 7_200, wrong(600, 4_200, .silent, 60))),
        Situation(
            name: "10 phones, a push each 5 min, 503 for 30 min", until: 12_000, end: 5_407, late: 190, told: .between(3_660, 5_400),
            setUp: everybody(Array(phones[..<10]), 1 / 300, 10_800, wrong(3_600, 5_400, .passing, 7))),
        Situation(
            name: "gorush restarts, 10 s", until: 400, end: 110, late: 5, setUp: everybody(phones, 10, 300, wrong(100, 110, .away, 0.01))),
        Situation(
            name: "gorush killed each 20 s", until: 400, within: 6,
            setUp: everybody(phones, 10, 300) { now, _, _, _ in now.truncatingRemainder(dividingBy: 20) < 3 ? (.away, 0.01) : fine }),
        Situation(
            name: "first day: 30 phones, wrong project at 3 h for 2 h", until: 25_200, end: 18_000, late: 60, told: .between(10_860, 11_400)
        ) {
            $0.provider = wrong(10_800, 18_000, .device, 0.1)
            $0.traffic(to: Array(phones[..<30]), 0.05, until: 21_600, provenAt: nil)
        },
        Situation(
            name: "quota of the project 0, 50 min", until: 6_000, isLong: true, end: 3_300, late: 310, told: .between(360, 380),
            setUp: everybody(phones, 2, 4_500, wrong(300, 3_300, .quota, 0.1))),
        Situation(
            name: "503 for all for 1 h, one lucky delivery", until: 5_400, isLong: true, end: 3_907, late: 370, told: .between(360, 380),
            setUp: everybody(phones, 1, 3_850) { now, device, _, _ in
                300 <= now && now < 3_900 && !(device == "p7" && 2_100 < now && now < 2_400) ? (.passing, 7) : fine
            }),
        Situation(
            name: "503 for all, 11 min, the server restarts each minute", until: 2_700, isLong: true, end: 967, late: 170, told: .either
        ) {
            $0.provider = wrong(300, 960, .passing, 7)
            $0.traffic(to: phones, 2, until: 2_400)
            for time in stride(from: 360.0, to: 960, by: 60) { $0.restart(at: time) }
        },
        Situation(
            name: "wrong project for 1 h, a restart after 20 min", until: 7_800, isLong: true, end: 4_200, late: 370,
            told: .between(660, 720), goneCount: 0
        ) {
            $0.provider = wrong(600, 4_200, .device, 0.1)
            $0.traffic(to: phones, 0.5, until: 7_200)
            $0.restart(at: 1_800)
        },
        Situation(
            name: "half refused for 40 min, a restart each 5 min", until: 4_500, isLong: true, isHealthy: { device, _ in !isOdd(device) },
            goneCount: 0
        ) {
            $0.provider = { now, device, _, _ in 300 <= now && now < 2_700 && isOdd(device) ? (.device, 0.1) : fine }
            $0.traffic(to: phones, 2, until: 3_600)
            for time in stride(from: 300.0, to: 2_700, by: 300) { $0.restart(at: time) }
        },
        Situation(name: "killed every 20 s, healthy phones", until: 900, isLong: true, rings: 3) {
            $0.traffic(to: phones, 10, until: 600)
            for time in stride(from: 20.0, to: 600, by: 20) { $0.restart(at: time) }
        },
    ]

func isEven(_ device: String, _ kind: String) -> Bool { device.first == "p" && number(device) % 2 == 0 }

private let someInTrouble: [Situation] =
    [4.0, 40].map { rate in
        Situation(
            name: "half get 503 (7 s), 30 min, \(Int(rate))/s", until: 2_600, isLong: true, workers: 96, isHealthy: isEven,
            setUp: everybody(phones, rate, 1_800, odd(.passing, 7, until: 1_800)))
    }
    + [
        Situation(
            name: "half hold a worker 240 s, 1/s, 300 workers", until: 2_600, workers: 256, isHealthy: isEven,
            setUp: everybody(phones, 1, 1_800, odd(.passing, 240, until: 1_800))),
        Situation(
            name: "half hold a worker 240 s, 1/s, 32 workers (too few)", until: 2_600, isHealthy: isEven, within: 1_300,
            setUp: everybody(phones, 1, 1_800, odd(.passing, 240, until: 1_800))),
        Situation(
            name: "half hang 60 s, 1/s", until: 2_600, isLong: true, workers: 96, isHealthy: isEven,
            setUp: everybody(phones, 1, 1_800, odd(.silent, 60, until: 1_800))),
        Situation(
            name: "half hang 60 s, 1/s, 32 workers (too few)", until: 2_600, isHealthy: isEven, within: 60,
            setUp: everybody(phones, 1, 1_800, odd(.silent, 60, until: 1_800))),
        Situation(
            name: "half 504 after 1 s", until: 2_600, isHealthy: isEven, setUp: everybody(phones, 1, 1_800, odd(.silent, 1, until: 1_800))),
        Situation(
            name: "half refused for 40 min", until: 4_500, isLong: true, isHealthy: isEven, goneCount: 0,
            setUp: everybody(phones, 2, 3_600) { now, device, _, _ in
                300 <= now && now < 2_700 && isOdd(device) ? (.device, 0.1) : fine
            }),
        Situation(name: "half hang, new phones", until: 3_200, isHealthy: { device, _ in device.first == "n" }, within: 2) {
            $0.provider = odd(.silent, 60, until: 9e9)
            $0.traffic(to: phones, 1, until: 3_000)
            for index in 0..<100 { $0.push("n\(index)", at: 600 + 20 * Double(index)) }
        },
        Situation(
            name: "half hang, the others 5 % 503", until: 4_000, isLong: true, workers: 96, isHealthy: isEven, within: 5,
            setUp: everybody(phones, 1, 3_000) { now, device, _, random in
                isOdd(device) && now < 3_000 ? (.silent, 60) : chance(0.05, &random) ? (.passing, 0.1) : fine
            }),
        Situation(
            name: "one request in ten hangs", until: 5_400, isLong: true, within: 650,
            setUp: everybody(phones, 2, 3_600) { _, _, _, random in chance(0.1, &random) ? (.silent, 60) : fine }),
    ]
    + [(RouteSimulation.Answer.silent, 50.0), (.rings, 1), (.tooLarge, 0.05), (.passing, 0.002), (.device, 0.1)].map { answer, seconds in
        Situation(
            name: "one phone: \(answer) after \(seconds) s", until: 1_000, isHealthy: { device, _ in device != "p0" },
            isDead: { device, _ in device == "p0" }, rings: 4,
            setUp: everybody(Array(phones[..<20]), 1, 900) { _, device, _, _ in device == "p0" ? (answer, seconds) : fine })
    }
    + [1, 2, 4].map { workers in
        Situation(
            name: "one phone hangs 60 s, \(workers) workers", until: 1_000, workers: workers, isHealthy: { device, _ in device != "p0" },
            within: workers == 1 ? 65 : 1,
            setUp: everybody(Array(phones[..<20]), 1, 900) { _, device, _, _ in device == "p0" ? (.silent, 60) : fine })
    }
    + [(RouteSimulation.Answer.tooLarge, 0.05), (.silent, 50), (.push, 0.1), (.passing, 7)].map { answer, seconds in
        Situation(
            name: "a poisoned push (\(answer)), its phone gets others", until: 7_300, isHealthy: { _, kind in kind == "ok" }, within: 105
        ) {
            $0.provider = { _, _, kind, _ in kind == "poison" ? (answer, seconds) : fine }
            $0.push("p0", at: 5, kind: "poison", provenAt: worked)
            $0.traffic(to: ["p0"], 1 / 60, from: 10, until: 7_200)
        }
    }
    + [
        Situation(name: "20 pushes to a phone in one bad second", until: 700, within: 4) {
            $0.provider = { now, _, _, _ in now < 1 ? (.passing, 0.1) : fine }
            for index in 0..<20 { $0.push("p0", at: 0.5 + Double(index) * 0.01, provenAt: worked) }
        },
        Situation(
            name: "two of five uninstalled, a push a minute", until: 14_400, isHealthy: { device, _ in !["p0", "p1"].contains(device) },
            isDead: { device, _ in ["p0", "p1"].contains(device) }, goneCount: 2,
            setUp: everybody(Array(phones[..<5]), 1 / 60, 14_400, refused("p0", "p1"))),
        Situation(
            name: "12 of 28 uninstalled", until: 21_600, isHealthy: { device, _ in number(device) >= 12 },
            isDead: { device, _ in number(device) < 12 },
            setUp: everybody(Array(phones[..<28]), 1 / 60, 21_600) { _, device, _, _ in number(device) < 12 ? (.device, 0.1) : fine }),
        Situation(
            name: "3 phones, 2 off for good, 24 h", until: 86_400, isHealthy: { device, _ in device == "p2" },
            isDead: { device, _ in device != "p2" },
            setUp: everybody(Array(phones[..<3]), 1 / 600, 86_400, refused("p0", "p1"))),
        Situation(
            name: "6 phones, 3 off for good, 72 h", until: 259_200, isHealthy: { device, _ in number(device) > 2 },
            isDead: { device, _ in number(device) <= 2 }, losses: [.expired],
            setUp: everybody(Array(phones[..<6]), 1 / 900, 259_200, refused("p0", "p1", "p2"))),
    ]
    + [0.5, 0.8, 0.0135].map { share in
        Situation(
            name: "a balancer: \(share) of the attempts refused", until: 15_100, isLong: true, within: 300, goneCount: 0,
            setUp: everybody(Array(phones[..<40]), 0.5, 14_400) { _, _, _, random in chance(share, &random) ? (.device, 0.1) : fine })
    }
    + [
        Situation(
            name: "a pair behind TCP, one with a wrong key", until: 700, within: 40,
            setUp: everybody(phones, 1, 600) { _, _, _, random in chance(0.5, &random) ? (.credentials, 0.1) : fine }),
        Situation(
            name: "outage of 11 min for all but three phones", until: 4_600, isLong: true, end: 1_560, late: 70, told: .either,
            setUp: everybody(phones, 1, 4_000) { now, device, _, _ in
                900 <= now && now < 1_560 && !phones[..<3].contains(device) ? (.device, 0.1) : fine
            }),
        Situation(
            name: "gorush away 5 s while one phone hangs", until: 500, isHealthy: { device, _ in device != "p0" }, within: 5,
            setUp: everybody(Array(phones[..<20]), 2, 400) { now, device, _, _ in
                100 <= now && now < 105 ? (.away, 0.01) : device == "p0" ? (.silent, 60) : fine
            }),
        Situation(
            name: "credentials refused 10 min while half hang", until: 3_000, workers: 96, isHealthy: isEven, end: 900, late: 80,
            told: .between(355, 420),
            setUp: everybody(phones, 1, 1_500) { now, device, _, _ in
                isOdd(device) ? (.silent, 60) : 300 <= now && now < 900 ? (.credentials, 0.2) : fine
            }),
        Situation(
            name: "a quarter refused for 40 min", until: 4_500, isLong: true, isHealthy: { device, _ in number(device) % 4 > 0 },
            goneCount: 0,
            setUp: everybody(phones, 2, 3_600) { now, device, _, _ in
                300 <= now && now < 2_700 && number(device) % 4 == 0 ? (.device, 0.1) : fine
            }),
        Situation(
            name: "a tenth refused for 40 min", until: 4_500, isLong: true, isHealthy: { device, _ in number(device) % 10 > 0 },
            goneCount: 0,
            setUp: everybody(phones, 2, 3_600) { now, device, _, _ in
                300 <= now && now < 2_700 && number(device) % 10 == 0 ? (.device, 0.1) : fine
            }),
        Situation(
            name: "2 of 5 refused for 40 min", until: 4_500, isHealthy: { device, _ in number(device) < 3 }, goneCount: 0,
            setUp: everybody(Array(phones[..<5]), 1 / 60, 3_600) { now, device, _, _ in
                300 <= now && now < 2_700 && number(device) > 2 ? (.device, 0.1) : fine
            }),
        Situation(
            name: "a balancer of which 0.3 are gone (away)", until: 1_300, isLong: true, within: 6,
            setUp: everybody(phones, 5, 1_200) { _, _, _, random in chance(0.3, &random) ? (.away, 0.01) : fine }),
    ]

func starts(_ letter: Character) -> Situation.Choice { { device, _ in device.first == letter } }

private let newAndStrange: [Situation] =
    [
        Situation(
            name: "family: two old phones dead, two new", until: 1_200, isHealthy: starts("n"), isDead: starts("p")
        ) {
            $0.provider = refused("p0", "p1")
            for index in 0..<40 { $0.push(phones[index % 2], at: 10 + 7 * Double(index), provenAt: worked) }
            for index in 0..<20 { $0.push("n\(index % 2)", at: 300 + 20 * Double(index)) }
        }
    ]
    + [(1_000, worked), (300, nil)].map { (count: Int, provenAt: Double?) in
        Situation(
            name: "\(count) of a stranger that \(provenAt == nil ? "never worked" : "worked"), with ten pushes each, phones with one",
            until: 120, isHealthy: starts("n"), within: 2
        ) {
            $0.provider = { _, _, _, _ in (.delivered, 0.1) }
            for index in 0..<10 * count { $0.push("s\(index % count)", at: 10, provenAt: provenAt) }
            for index in 0..<20 { $0.push("n\(index)", at: 15 + Double(index), provenAt: provenAt) }
        }
    }
    + [worked, nil].map { provenAt in
        Situation(
            name: "a stranger's 120 dead tokens, one \(provenAt == nil ? "new" : "healthy") phone", until: 1_000, isHealthy: starts("g"),
            isDead: starts("d")
        ) {
            $0.provider = { _, device, _, _ in device.first == "d" ? (.device, 0.1) : fine }
            $0.traffic(to: (0..<120).map { "d\($0)" }, 10, until: 900, provenAt: nil)
            for index in 0..<12 { $0.push("good", at: 120 + 60 * Double(index), provenAt: provenAt) }
        }
    }
    + [
        Situation(name: "1,440 to 60 phones, then 100 new, 2 workers", until: 120, workers: 2, isHealthy: starts("n"), within: 10) {
            for _ in 0..<24 { for index in 0..<60 { $0.push("s\(index)", at: 0, provenAt: worked) } }
            for index in 0..<100 { $0.push("n\(index)", at: 0.01) }
        },
        Situation(
            name: "new environment: old phones refused, new ones work", until: 7_200, isHealthy: starts("n"), told: .between(660, 1_200),
            goneCount: 0
        ) {
            $0.provider = { now, device, _, _ in device.first == "n" || now < 600 ? fine : (.device, 0.1) }
            $0.traffic(to: Array(phones[..<50]), 0.2, until: 7_200)
            for index in 0..<100 { $0.push("n\(index % 3)", at: 1_200 + 60 * Double(index)) }
        },
        Situation(
            name: "500 phones of a stranger that hang", until: 1_900, isLong: true, isHealthy: starts("p")
        ) {
            $0.provider = { _, device, _, _ in device.first == "t" ? (.silent, 60) : fine }
            $0.traffic(to: Array(tokens[..<500]), 2, until: 1_800, provenAt: nil)
            $0.traffic(to: phones, 1, until: 1_800)
        },
        Situation(
            name: "2 workers, 5 dead tokens of a stranger a second", until: 3_700, isLong: true, workers: 2, isHealthy: starts("p"),
            isDead: starts("t"),
            losses: [.neverWorked]
        ) {
            $0.provider = { _, device, _, _ in device.first == "t" ? (.device, 0.3) : fine }
            $0.traffic(to: tokens, 5, until: 3_600, provenAt: nil)
            $0.traffic(to: phones, 1, until: 3_600)
        },
        Situation(name: "one proven phone, 60 new ones refused for 20 min", until: 2_400, end: 1_200, late: 130) {
            $0.provider = { now, device, _, _ in device != "p0" && now < 1_200 ? (.device, 0.1) : fine }
            for index in 0..<60 { $0.push("n\(index)", at: Double(index) * 20) }
            $0.traffic(to: ["p0"], 1 / 300, until: 1_200)
        },
        Situation(
            name: "3 dead of a stranger beside 5 phones, 1 uninstalled", until: 86_400, isHealthy: starts("p"),
            isDead: { device, _ in "zu".contains(device.first ?? "p") }
        ) {
            $0.provider = { now, device, _, _ in "zu".contains(device.first ?? "p") && now > 7_200 ? (.device, 0.1) : fine }
            for device in ["z0", "z1", "z2"] { $0.traffic(to: [device], 1 / 600, until: 86_400, provenAt: nil) }
            $0.traffic(to: ["u0"], 1 / 900, until: 86_400)
            $0.traffic(to: Array(phones[..<4]), 1 / 300, until: 86_400)
        },
        Situation(
            name: "a stranger proves 25 that die beside 40 phones, quiet", until: 28_800, isLong: true, isHealthy: starts("p"),
            isDead: starts("z"), losses: [.expired]
        ) {
            $0.provider = { now, device, _, _ in device.first == "z" && now > 3_600 ? (.device, 0.1) : fine }
            for index in 0..<25 { $0.push("z\(index)", at: 10 * Double(index)) }
            $0.traffic(to: Array(phones[..<40]), 1 / 60, until: 3_600)
            $0.traffic(to: Array(phones[..<40]), 1 / 1_200, from: 3_600, until: 28_800)
            for index in 0..<400 { $0.push("z\(index % 25)", at: 3_700 + Double(index)) }
        },
        Situation(
            name: "500 of a stranger hang, gorush restarts for 2 s", until: 4_900, isLong: true, isHealthy: starts("p"), within: 6
        ) {
            $0.provider = { now, device, _, _ in
                3_600 <= now && now < 3_602 ? (.away, 0.01) : device.first == "t" ? (.silent, 60) : fine
            }
            $0.traffic(to: Array(tokens[..<500]), 2, until: 4_800, provenAt: nil)
            $0.traffic(to: phones, 2, until: 4_800)
        },
        Situation(
            name: "credentials of one of two providers refused 1 h, .2/s", until: 5_000, isHealthy: isEven, told: .either,
            setUp: everybody(Array(phones[..<30]), 0.2, 4_500) { now, device, _, _ in
                300 <= now && now < 3_900 && isOdd(device) ? (.credentials, 0.2) : fine
            }),
        Situation(
            name: "three long-dead phones, three new ones, a restart at night", until: 190_800, isHealthy: starts("n"), isDead: starts("p"),
            losses: [.expired]
        ) {
            $0.provider = refused("p0", "p1", "p2")
            for index in 0..<3 { $0.push("p\(index)", at: 900 + Double(index), provenAt: worked) }
            $0.traffic(to: ["n0", "n1", "n2"], 1 / 20, from: 100, until: 3_600, provenAt: nil)
            for index in 0..<3 { $0.push("p\(index)", at: 180_000) }
            $0.restart(at: 181_800)
            $0.push("n0", at: 187_200)
        },
    ]
    + [2, 4].map { workers in
        Situation(
            name: "\(workers) workers, 20 of a stranger hang, honest 5 % 503", until: 3_900, workers: workers, isHealthy: starts("p"),
            within: 10
        ) {
            $0.provider = { _, device, _, random in
                device.first == "t" ? (.silent, 60) : chance(0.05, &random) ? (.passing, 0.1) : fine
            }
            $0.traffic(to: Array(tokens[..<20]), 1, until: 3_600, provenAt: nil)
            $0.traffic(to: Array(phones[..<30]), 0.5, until: 3_600)
        }
    }
    + [
        Situation(
            name: "6,000 pushes of a stranger are too large for a proxy, honest 5 % 503", until: 7_300, isHealthy: starts("p"), within: 8
        ) {
            $0.provider = { _, device, _, random in
                device.first == "z" ? (.tooLarge, 0.05) : chance(0.05, &random) ? (.passing, 0.1) : fine
            }
            for index in 0..<6_000 { $0.push("z\(index % 30)", at: Double(index) * 0.1, provenAt: worked) }
            $0.traffic(to: Array(phones[..<30]), 0.1, from: 700, until: 7_200)
        },
        Situation(
            name: "a new environment for three days, two phones of the old one", until: 282_000, isHealthy: starts("n"), losses: [.expired],
            told: .either, goneCount: 0
        ) {
            $0.provider = { now, device, _, _ in device.first == "n" || now < 600 || now > 259_200 ? fine : (.device, 0.1) }
            for index in 0..<2 { $0.push(phones[index], at: 700 + Double(index), provenAt: worked) }
            $0.traffic(to: Array(phones[..<2]), 1 / 3_600, until: 280_000)
            $0.traffic(to: ["n0", "n1", "n2"], 1 / 600, from: 1_200, until: 280_000, provenAt: nil)
        },
    ]

private let manyDevices: [Situation] = [
    Situation(
        name: "wrong project for 1 h, 5,000 phones, a push each", until: 4_500, workers: 96, end: 3_660, late: 60, told: .between(120, 130),
        maximumPostCount: 60_000
    ) {
        $0.provider = wrong(60, 3_660, .device, 0.1)
        for index in 0..<5_000 { $0.push("q\(index)", at: Double(index) * 0.7, provenAt: worked) }
    },
    Situation(name: "50,000 wait for gorush", until: 900, workers: 96, end: 600, late: 50) {
        $0.provider = wrong(0, 600, .away, 0.01)
        for index in 0..<50_000 { $0.push("b\(index % 20_000)", at: Double(index) / 100, provenAt: worked) }
    },
    Situation(
        name: "100,000 phones, 200/s, 1 % dead, 15 min", until: 905, workers: 96, isHealthy: { device, _ in number(device) % 100 != 0 },
        isDead: { device, _ in number(device) % 100 == 0 },
        setUp: everybody((0..<100_000).map { "q\($0)" }, 200, 900) { _, device, _, _ in
            number(device) % 100 == 0 ? (.device, 0.1) : fine
        }),
    Situation(name: "1,000 invented tokens", until: 7_300, isHealthy: starts("p"), isDead: starts("x"), losses: [.neverWorked]) {
        $0.provider = { _, device, _, _ in device.first == "x" ? (.device, 0.1) : fine }
        $0.traffic(to: phones, 1, until: 7_200)
        for index in 0..<1_000 { $0.push("x\(index)", at: Double(index)) }
    },
    Situation(
        name: "a stranger's 10,000 dead tokens, 20/s", until: 3_700, isHealthy: starts("p"), isDead: starts("t"), losses: [.neverWorked],
        maximumPostCount: 40_000
    ) {
        $0.provider = { _, device, _, _ in device.first == "t" ? (.device, 0.1) : fine }
        $0.traffic(to: tokens, 20, until: 3_600, provenAt: nil)
        $0.traffic(to: phones, 1, until: 3_600)
    },
    Situation(
        name: "10,000 invented tokens and gorush away 11 min", until: 1_500, isHealthy: starts("p"), isDead: starts("t"), end: 960, late: 10
    ) {
        $0.provider = { now, device, _, _ in 300 <= now && now < 960 ? (.away, 0.01) : device.first == "t" ? (.device, 0.1) : fine }
        $0.traffic(to: tokens, 20, until: 900, provenAt: nil)
        $0.traffic(to: phones, 1, until: 1_200)
    },
    Situation(
        name: "2,000 phones of a stranger, each times out after 4.5 s", until: 1_900, isHealthy: starts("p")
    ) {
        $0.provider = { _, device, _, _ in device.first == "t" ? (.silent, 4.5) : fine }
        $0.traffic(to: Array(tokens[..<2_000]), 20, until: 1_800, provenAt: nil)
        $0.traffic(to: phones, 2, until: 1_800)
    },
    Situation(
        name: "10,000 pushes a day to 5 invented tokens", until: 86_400, isHealthy: starts("p"), isDead: starts("x"),
        losses: [.neverWorked, .expired]
    ) {
        $0.provider = { _, device, _, _ in device.first == "x" ? (.device, 0.1) : fine }
        $0.traffic(to: Array(phones[..<20]), 0.1, until: 86_400)
        for index in 0..<10_000 { $0.push("x\(index % 5)", at: Double(index) * 8) }
    },
    Situation(
        name: "5,000 of a stranger proved and dead, honest 5 % 503", until: 14_400, isHealthy: starts("p"), isDead: starts("z"), within: 20,
        told: .either
    ) {
        $0.provider = { now, device, _, random in
            device.first == "z" ? (now > 60 ? (.device, 0.1) : fine) : chance(0.05, &random) ? (.passing, 0.1) : fine
        }
        for index in 0..<5_000 { $0.push("z\(index)", at: 0.02 * Double(index) + 61, provenAt: worked) }
        $0.traffic(to: Array(phones[..<30]), 0.1, from: 7_200, until: 14_000)
    },
    Situation(
        name: "60 dead tokens a second of new bundle ids, new phones", until: 1_000, workers: 8, isHealthy: starts("n"), isDead: starts("t")
    ) {
        $0.provider = { _, device, _, _ in device.first == "t" ? (.device, 0.3) : fine }
        $0.traffic(to: tokens, 60, until: 900, provenAt: nil, hasKnownBundleID: false)
        for index in 0..<80 { $0.push("n\(index)", at: 60 + 10 * Double(index)) }
    },
]
