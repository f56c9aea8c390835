import Foundation

/// The user whom a tool becomes before it changes a server's files.
enum FolderOwner {
    /// Drops root's rights for those of the user who controls the folder of a file, until the process exits. Such a user can put links into
    /// the folder, and root would follow them. Does nothing in a process that is not root's, or if only root controls the folder.
    ///
    /// - Throws: ``Failure`` if the rights cannot be dropped.
    static func become(for path: String) throws(Failure) {
        guard geteuid() == 0, let owner = owner(of: path) else { return }
        var group = owner.group
        guard unsafe setgroups(1, &group) == 0, setgid(group) == 0, setuid(owner.user) == 0 else {
            throw unsafe .failed("Cannot act as the owner of \(path)'s folder (user \(owner.user)): \(String(cString: strerror(errno)))")
        }
    }

    /// Returns the owner of the topmost folder on the path that is not root's, because this owner controls everything below it.
    private static func owner(of path: String) -> (user: uid_t, group: gid_t)? {
        let path = URL(filePath: path).path()
        for slash in path.indices where path[slash] == "/" {
            var folder = stat()
            guard unsafe stat(String(path[...slash]), &folder) == 0 else { return nil }
            if folder.st_uid != 0 { return (folder.st_uid, folder.st_gid) }
        }
        return nil
    }
}
