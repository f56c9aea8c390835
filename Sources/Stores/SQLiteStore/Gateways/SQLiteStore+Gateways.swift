import Bytes
package import Envelope
import Foundation
import GRDB
import PushProtocol
import StatusCrypto
import Store
import Wire

extension SQLiteStore {
    package func withdraw(_ pushes: [Int64], at now: Timestamp) async throws {
        try await queue.perform { transaction in
            _ = try transaction.finish(pushes, as: .withdrawn, reason: .withdrawn, at: now)
        }
    }
}
