import Foundation
import TestSupport
import Testing

/// Disk failures under a running server. The disk fails in each of the transactions of a message, and recovers later.
@Suite(.fewAtATime) struct DiskFaultTests {
    enum Fault: CaseIterable {
        case full
        case syncsFail
        case readOnly

        func strike(_ disk: FaultyDisk, atCall call: Int) {
            switch self {
            case .full: disk.fail(.write, with: .full, first: call)
            case .syncsFail: disk.fail(.sync, with: .syncError, first: call)
            case .readOnly: disk.fail([.write, .truncate], with: .readOnly, first: call)
            }
        }
    }

    struct Scene: CustomTestStringConvertible {
        var fault: Fault
        var kind: FaultyExchange.Kind
        var step: FaultyExchange.Step

        var testDescription: String { "\(fault) in the \(step) of a \(kind)" }

        static let all = Fault.allCases.flatMap { fault in
            FaultyExchange.Kind.allCases.flatMap { kind in
                FaultyExchange.Step.allCases.map { Scene(fault: fault, kind: kind, step: $0) }
            }
        }
    }

    /// Whether each call of a transaction fails in its own run, as in Scripts/crash-test disk. Otherwise only the first call fails.
    private static let isExhaustive = ProcessInfo.processInfo.environment["DISK_FAULT_TEST"] == "all"

    @Test(arguments: Scene.all)
    func `a message during a disk failure is not recorded, or waits until the disk works again`(scene: Scene) async throws {
        #expect(try await meetsFault(scene, atCall: 1))
        var call = 2
        while Self.isExhaustive, try await meetsFault(scene, atCall: call) { call += 1 }
    }

    private func meetsFault(_ scene: Scene, atCall call: Int) async throws -> Bool {
        try await FaultyExchange(scene.kind, scene.step) { scene.fault.strike($0, atCall: call) }.run()
    }
}
