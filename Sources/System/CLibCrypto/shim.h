#pragma once
#include <openssl/crypto.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

// A macro that Swift does not see.
static const int EVP_PKEY_PUBLIC_KEY_selection = EVP_PKEY_PUBLIC_KEY;
