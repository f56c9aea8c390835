/// The result of lifting the mark on a database whose rows were copied to another database.
package struct UndoneMove: Report {
    private let database: String
    private let movedTo: String?

    /// - Throws: ``Failure`` if the database cannot be used.
    package init(of database: ServerDatabase) throws {
        self.database = database.name
        movedTo = try database.undoMove()
    }

    package var lines: [String] {
        guard let movedTo else { return ["\(database) was not marked as moved."] }
        return ["\(database) is no longer marked as moved to \(movedTo). Never start servers on both: clients would get two replies."]
    }
}
