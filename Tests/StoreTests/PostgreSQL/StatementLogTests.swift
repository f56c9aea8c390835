import Bytes
import Logging
import Store
import TestSupport
import Testing

@testable import PostgreSQLStore

/// A PostgreSQL that logs each statement with its values.
@Suite(.fewAtATime) struct StatementLogTests {
    @Test func `PostgreSQL's log contains no secret, because values are sealed before they are sent`() async throws {
        let postgres = try await PostgreSQLProcess.start(["log_statement=all", "log_parameter_max_length=-1", "log_line_prefix="])
        let location = try PostgreSQLLocation(url: postgres.serverSettings["storage.url"] ?? "")
        let store = try PostgreSQLStore(
            location.connection(password: nil, name: "test"), identity: identity, sealingKeys: sealingKeys(1), serverName: "one",
            logger: Logger(label: "test"))
        let secrets = PlantedSecrets()
        try await secrets.plant(in: store)
        try await secrets.expectComplete(in: store)
        #expect(try await store.logsValues())
        await store.close()
        let log = try await postgres.completeLog()
        func hasValue(_ text: String) -> Bool {
            let digits = Hex.encode(Array(text.utf8))
            return log.contains { $0.contains(text) || $0.contains(digits) }
        }
        // Bundle ids are not sealed, so the log has values.
        #expect(hasValue("im.status.ethereum"))
        for trace in PlantedSecrets.traces { #expect(!hasValue(trace)) }
        await postgres.stop()
    }

    @Test(
        arguments: [
            ([], false), (["log_statement=none"], false), (["log_statement=ddl"], false), (["log_statement=mod"], true),
            (["log_statement=all"], true), (["log_min_duration_statement=0"], true), (["log_min_duration_statement=60000"], true),
            (["log_min_duration_sample=0"], true), (["log_transaction_sample_rate=0.1"], true),
            (["log_statement=all", "log_parameter_max_length=10"], true), (["log_statement=all", "log_parameter_max_length=0"], false),
        ] as [([String], Bool)])
    func `a log with the values of any statements is a warning, and one without values is none`(
        settings: [String], isLogged: Bool
    ) async throws {
        let folder = try TemporaryFolder()
        var parameters = try folder.newPostgreSQL()
        parameters["options"] = settings.map { "-c \($0)" }.joined(separator: " ")
        #expect(try PostgreSQLStore.logsValues(parameters) == isLogged)
    }
}
