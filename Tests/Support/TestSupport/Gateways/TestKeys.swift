/// Public keys for tests of a proxy's checks, made with openssl and by hand. Their private keys do not exist.
package enum TestKeys {
    /// An RSA key of 1,024 bits, which is too short.
    package static let rsa1024 = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCz9dISHyKRyI56lFHoIvteOJKA
        F0EXN0p6sb9r3+vN3cZIy9zmZK0hchDAmdlVNLzzl2HSYezAmRW2bbVpN3oEffAA
        7ogeZxJRbD8/4WVA6KNHwLdMV7auYRLfziHoFr2siX2eejx+JmsGwT1RDjnD71Ga
        ocuEYyWwf9Wp1aaKaQIDAQAB
        -----END PUBLIC KEY-----

        """

    /// An RSA key of 4,096 bits.
    package static let rsa4096 = """
        -----BEGIN PUBLIC KEY-----
        MIICIjANBgkqhkiG9w0BAQEFAAOCAg8AMIICCgKCAgEAt8iHq7xuU3DR8onR9rmX
        mpBTuCe4pW0Fvzh4KfOV3QnLcv6wCe0pt1qwgSq49m8InOlCX04QpFkSdtu5VQgV
        tHZ8lyAtExCjrZl4DkFwr1436DRR7njHp0yavGogH/4wNoCL/7HQSDwef0T7KL+Q
        o0AlK4xgihGLFdMWWmETWoM5vavOmxGMw+5FDrFlwzbJ0lQxz7VI75ybyYx0Q1cK
        osSmVOXDELLbCb46qC7zEOLcvC1S8ClTyEhCCG6wlwY60S1L3OZXmqB83koQANE4
        QEqFECP4Y9aKF0X5k8tV5TTOrZ+qK0+xWMvsn1zw2UjOJwrRqrT47chg9mPr2ij7
        i21J4MxrgX5pF9tbVYJLFhyNjoukzbjKvWwwEEaznL0pzfBDRl/nxS95EbJ9VXSP
        y5n1ZBvytCG4405j/VGgQlgww5w5i9rPC9spsDOmBriRupmgeqg1clz/vVol08EI
        QjhxqQW6Gpr8wyrJBVLHU53nmthwMfBJUG1K417aOqQgDke0u9ztxu1ZMIRwVCx3
        jh68NqprptauPR5alNo1Ik/RRQsT/NAK0O6Bhfr5YQPBoTaNTgfHUojbiVdFkIHA
        CIelLZeDxTZdJ7ZF7zVCzwTkBJ39orIJumb6ynSeBIGji1GinKiLmUvzSjeFyr3v
        EXkNpX8uQuXni6FMVnsrplsCAwEAAQ==
        -----END PUBLIC KEY-----

        """

    /// A P-256 key, which is not an RSA key.
    package static let ellipticCurve = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEVag2mpvILp74nkvigtTIG0TDeSnI
        uizS+GXTTvOriIVxl+JaFgBOmZyhDjFFltkbw8rdFqkEA0cQ9fLNWUpkjg==
        -----END PUBLIC KEY-----

        """

    /// An RSA key of 2,048 bits with an exponent of that length, which makes a verification as slow as a signature.
    package static let longExponent = """
        -----BEGIN PUBLIC KEY-----
        MIICIjANBgkqhkiG9w0BAQEFAAOCAg8AMIICCgKCAQEAnWf39ol8wYLJzZCnk5aG
        HDdA4u0C3YuFBO95mBCHTHgFh0Sk1b9yvl2nVK72NrWshVhzgk9yzhRib7pxYs6b
        0qkFDM340/88v6kvt1Gdi104Wz7xA8Tbeofw+41wcsfJCXK9/EUj0fTILph+lWWi
        GIHmJqYAklEFGWyWm6ccVg0CB5SaxcMPtMHY9LmQD1lA2gf7SNb8D6AastDBFqIj
        wevTOG4bgXH61kPaAF0Rke3t6+NGBycp+3L4J1iY0fMJjnybYSWdjf/oprhx8mXb
        3cYzsXCZq8ijtN3tgeSQ7df1XVq/kS4qvAQdHA6Edw/m35nJX27kbsAC6FoZS5UT
        LwKCAQEAnWf39ol8wYLJzZCnk5aGHDdA4u0C3YuFBO95mBCHTHgFh0Sk1b9yvl2n
        VK72NrWshVhzgk9yzhRib7pxYs6b0qkFDM340/88v6kvt1Gdi104Wz7xA8Tbeofw
        +41wcsfJCXK9/EUj0fTILph+lWWiGIHmJqYAklEFGWyWm6ccVg0CB5SaxcMPtMHY
        9LmQD1lA2gf7SNb8D6AastDBFqIjwevTOG4bgXH61kPaAF0Rke3t6+NGBycp+3L4
        J1iY0fMJjnybYSWdjf/oprhx8mXb3cYzsXCZq8ijtN3tgeSQ7df1XVq/kS4qvAQd
        HA6Edw/m35nJX27kbsAC6FoZS5UTLQ==
        -----END PUBLIC KEY-----

        """

    /// An RSA key whose exponent has no inverse.
    package static let evenExponent = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAnWf39ol8wYLJzZCnk5aG
        HDdA4u0C3YuFBO95mBCHTHgFh0Sk1b9yvl2nVK72NrWshVhzgk9yzhRib7pxYs6b
        0qkFDM340/88v6kvt1Gdi104Wz7xA8Tbeofw+41wcsfJCXK9/EUj0fTILph+lWWi
        GIHmJqYAklEFGWyWm6ccVg0CB5SaxcMPtMHY9LmQD1lA2gf7SNb8D6AastDBFqIj
        wevTOG4bgXH61kPaAF0Rke3t6+NGBycp+3L4J1iY0fMJjnybYSWdjf/oprhx8mXb
        3cYzsXCZq8ijtN3tgeSQ7df1XVq/kS4qvAQdHA6Edw/m35nJX27kbsAC6FoZS5UT
        LwIDAQAA
        -----END PUBLIC KEY-----

        """
}
