import { pbkdf2Sync } from 'node:crypto'
import { getAddress } from 'viem'
import { HDKey, privateKeyToAddress } from 'viem/accounts'

/** Seed phrases that documentation and development tools publish; bots empty their wallets. */
const PHRASES = [
  'test test test test test test test test test test test junk', // Anvil, Hardhat
  'candy maple cake sugar pudding cream honey rich smooth crumble sweet treat', // Truffle
  'myth like bonus scare over problem client lizard pioneer submit female collect', // Ganache
  'concert load couple harbor equip island argue ramp clarify fence smart topic', // 0x
  'announce room limb pattern dry unit scale effort smooth jazz weasel alcohol', // ethers
  'radar blur cabbage chef fix engine embark joy scheme fiction master release', // ethers
  'legal winner thank year wave sausage worth useful legal winner thank yellow', // BIP-39
  'letter advice cage absurd amount doctor acoustic avoid letter advice cage above', // BIP-39
  `${'abandon '.repeat(11)}about`, // BIP-39
  `${'zoo '.repeat(11)}wrong`, // BIP-39
] as const

/** Accounts per phrase: what the tools open, and as many again. */
const ACCOUNTS = 20

/** Keys that are published without a phrase, of wallets and (RFC 8032) of signatures. */
const KEYS = [
  '0x8f2a55949038a9610f50fb23b5883af3b4ecb3c3bb792cbcefbd1542c692be63', // Besu
  '0xae6ae8e5ccbfb04590405997ee2d52d2b330726137b875053c36d94e974d162f', // Besu
  '0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318', // web3.js
  '0x0123456789012345678901234567890123456789012345678901234567890123', // ethers
  '0x0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
  '0x9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', // RFC 8032
  '0x4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb', // RFC 8032
  '0xc5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7', // RFC 8032
] as const

/** Order of secp256k1: keys above it do not exist, and those right below it are guessed. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const GUESSED = 2n ** 64n
const DISTINCT_BYTES_MIN = 8

let known: { keys: ReadonlySet<string>; addresses: ReadonlySet<string> } | undefined

/** Derives the accounts by BIP-39 and BIP-44 (`m/44'/60'/0'/0/i`), once per process. */
function publishedAccounts() {
  if (known) return known
  const derived = PHRASES.flatMap((phrase) => {
    const seed = pbkdf2Sync(phrase, 'mnemonic', 2_048, 64, 'sha512')
    const parent = HDKey.fromMasterSeed(seed).derive("m/44'/60'/0'/0")
    return Array.from({ length: ACCOUNTS }, (_, i) => {
      const { privateKey } = parent.deriveChild(i)
      return `0x${Buffer.from(privateKey!).toString('hex')}` as const
    })
  })
  const keys = [...derived, ...KEYS]
  const addresses = new Set(keys.map((key) => privateKeyToAddress(key).toLowerCase()))
  known = { keys: new Set(keys), addresses }
  return known
}

/** Returns true for a private key that others have or can guess. */
export function isKnownKey(key: string): boolean {
  const value = BigInt(key)
  const bytes = new Set(key.slice(2).toLowerCase().match(/../g))
  const isGuessed = value < GUESSED || value > ORDER - GUESSED || bytes.size < DISTINCT_BYTES_MIN
  return isGuessed || publishedAccounts().keys.has(key.toLowerCase())
}

/** Returns true for the address of a published key. */
export const isKnownAddress = (address: string): boolean =>
  publishedAccounts().addresses.has(address.toLowerCase())

/** Addresses below this are the zero address and precompiled contracts. */
const PRECOMPILED_MAX = 0xffffn

/** Returns true for an address that nobody has the key of. */
export function isUnspendable(address: string): boolean {
  const digits = address.slice(2).toLowerCase()
  const isPattern = new Set(digits.match(/../g)).size <= 2 || /^0*(?:dead)+$/.test(digits)
  return BigInt(address) <= PRECOMPILED_MAX || isPattern || /^42000{30}/.test(digits)
}

/** Returns true if the checksum of a mixed-case address is wrong (EIP-55): a typing error. */
export const hasWrongChecksum = (address: string): boolean =>
  /[a-f]/.test(address.slice(2)) && /[A-F]/.test(address.slice(2))
    ? getAddress(address.toLowerCase()) !== address
    : false
