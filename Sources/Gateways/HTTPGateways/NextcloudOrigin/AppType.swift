package import Store

extension AppType {
    /// Recognises the app by its `User-Agent`.
    package init(userAgent: String) {
        if userAgent.starts(with: /Mozilla\/5\.0 \((?:Android|iOS)\) Nextcloud-Talk v/) {
            self = .talk
        } else if userAgent.starts(with: /Mozilla\/5\.0 \((?:Android\) (?:ownCloud|Nextcloud)-android|iOS\) (?:ownCloud|Nextcloud)-iOS)\//)
        {
            self = .nextcloud
        } else {
            self = .unknown
        }
    }
}
