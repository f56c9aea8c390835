import Foundation
package import ServerFiles

extension StatusSnapshot.Files {
    /// Reads how large a database and its write-ahead log are, and how much space their disk has left. Not available for PostgreSQL.
    package init(_ storage: DatabaseLocation) {
        guard case .sqlite(let path) = storage else {
            self.init()
            return
        }
        let files = FileManager.default
        func size(_ path: String) -> Int? { (try? files.attributesOfItem(atPath: path)[.size] as? NSNumber)?.intValue }
        let free = (try? files.attributesOfFileSystem(forPath: path))?[.systemFreeSize] as? NSNumber
        self.init(databaseBytes: size(path), walBytes: size(path + "-wal"), freeBytes: free?.intValue)
    }
}
