import Bytes
package import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

extension PostgreSQLStore {
    package func withdraw(_ pushes: [Int64], at now: Timestamp) async throws {
        try await write { transaction in
            try transaction.finish(pushes.map { ($0, .withdrawn, .withdrawn, nil) }, at: now)
        }
    }
}
