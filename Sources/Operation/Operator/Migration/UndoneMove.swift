package import ServerFiles

/// The result of giving up a database's copy: the copy is marked as moved back, and the mark on the database is lifted.
package struct UndoneMove: Report {
    private let database: String
    private let movedTo: String?

    /// No server may run on either database.
    ///
    /// - Parameter paths: The files of the server, with the database that was copied.
    /// - Throws: ``Failure`` if either database cannot be used. The copy may not exist.
    package init(of paths: ServerPaths) async throws {
        let source = ServerDatabase(paths)
        database = source.name
        movedTo = try source.movedPlace()
        guard let movedTo else { return }
        var target = paths
        target.use(database: movedTo)
        let copy = ServerDatabase(target)
        // The copy first: at no time does a server start on both.
        if try copy.isInUse() { try await copy.move { _, mark in try await mark(source.name) } }
        try source.liftMark()
    }

    package var lines: [String] {
        guard let movedTo else { return ["\(database) was not marked as moved."] }
        return ["\(database) is no longer marked as moved to \(movedTo), on which no server starts any more."]
    }
}
