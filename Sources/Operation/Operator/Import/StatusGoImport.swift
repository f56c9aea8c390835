import Bytes
import Envelope
import PushProtocol
import Store

/// Copies a status-go server's rows into a store.
struct StatusGoImport {
    /// Several days' worth of handled requests. A node's history brings back a day's requests (`ProtocolLimits.pushLifetime`).
    private static let maximumRequestCount = 300_000

    let source: StatusGoDatabase
    let store: any ImportStore
    let now: Timestamp
    let report: Progress.Report
    private(set) var counts = ImportCounts()

    init(from source: StatusGoDatabase, to store: any ImportStore, at now: Timestamp, report: @escaping Progress.Report) {
        self.source = source
        self.store = store
        self.now = now
        self.report = report
    }

    /// Copies all rows.
    ///
    /// - Parameter installationCount: The number of registrations and tombstones in the source.
    mutating func run(installationCount: Int) async throws {
        try await takeInstallations(count: installationCount)
        try await takeHandledRequests()
    }

    private mutating func takeInstallations(count: Int) async throws {
        var (row, done) = (Int64.min, 0)
        while let page = try await source.installations(after: row) {
            let decisions = page.elements.map(ImportRules.decide)
            try await store.importInstallations(decisions.compactMap(\.installation), at: now)
            for decision in decisions { counts.add(decision) }
            row = page.lastRow
            done += page.elements.count
            report(Progress(step: "importing registrations", done: done, total: count, unit: .rows))
        }
    }

    private mutating func takeHandledRequests() async throws {
        let (total, before) = try await source.handledRequests(newest: Self.maximumRequestCount)
        guard total > 0 else { return }
        var row = before
        while let page = try await source.handledRequests(after: row) {
            counts.requests += try await store.importHandledRequests(page.elements.compactMap(\.self), at: now)
            row = page.lastRow
            let count = min(total, Self.maximumRequestCount)
            report(Progress(step: "importing requests", done: counts.requests, total: count, unit: .rows))
        }
        counts.skippedRequests = total - counts.requests
    }
}

extension ImportDecision {
    /// The installation to be stored, or nil if the row is skipped.
    fileprivate var installation: ImportedInstallation? {
        switch self {
        case .register(let registration, _): .live(registration)
        case .tombstone(let installation, let version, let digest, _): .tombstone(installation, version: version, plaintextDigest: digest)
        case .skip: nil
        }
    }
}
