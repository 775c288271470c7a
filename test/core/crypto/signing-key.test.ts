import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { loadSigningKeys, parseSigningKey, signingKeyOf } from '../../../core/crypto/signing-key.ts'

describe('the signing key', () => {
  let dataDir: string
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
  })
  after(() => rm(dataDir, { recursive: true }))

  it('is the configured one, identified by its RFC 7638 thumbprint', async () => {
    // The key of RFC 8037, appendix A, and its thumbprint.
    const seed = Buffer.from('nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A', 'base64url')
    const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
    const signingKey = parseSigningKey(der.toString('base64'))
    const [key] = await loadSigningKeys({ signingKeys: [signingKey], dataDir })
    expect(key.id).to.equal('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k')
    expect(key.publicKey.toString('base64url')).to.equal(
      '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
    )
    const bytes = Buffer.from('what was said')
    expect(verify(null, bytes, createPublicKey(signingKey), key.sign(bytes))).to.equal(true)
    expect(await readdir(dataDir)).to.deep.equal([])
  })

  it('is created once in a data directory, readable by its owner only', async () => {
    const made = await Promise.all(
      [1, 2, 3].map(() => loadSigningKeys({ signingKeys: [], dataDir })),
    )
    const [again] = await loadSigningKeys({ signingKeys: [], dataDir })
    expect(new Set([...made.flat(), again].map(({ id }) => id)).size).to.equal(1)
    expect(await readdir(dataDir)).to.deep.equal(['signing-key'])
    const file = join(dataDir, 'signing-key')
    expect((await stat(file)).mode & 0o777).to.equal(0o600)
    const kept = signingKeyOf(parseSigningKey(await readFile(file, 'utf8')))
    expect(kept.id).to.equal(again.id)
  })

  it('is not replaced if it cannot be read', async () => {
    const elsewhere = join(dataDir, 'signing-key')
    const wrong = await loadSigningKeys({ signingKeys: [], dataDir: elsewhere }).then(
      () => 'made',
      (error: NodeJS.ErrnoException) => error.code,
    )
    expect(wrong).to.equal('ENOTDIR')
  })

  it('must be an Ed25519 key', () => {
    const { privateKey } = generateKeyPairSync('ed448')
    const other = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')
    for (const text of ['', 'secret', other]) {
      expect(() => parseSigningKey(text)).to.throw(/^not a signing key(?!.*secret)/)
    }
  })
})
