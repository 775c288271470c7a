import { expect } from 'chai'
import { parseTransaction, recoverTransactionAddress, recoverTypedDataAddress } from 'viem'
import { generatePrivateKey, type LocalAccount, privateKeyToAccount } from 'viem/accounts'
import { awsKmsSigner } from '../../../../core/payments/wallets/aws-kms.ts'
import { openWallet } from '../../../../core/payments/wallets/open-wallet.ts'
import {
  type RemoteSigner,
  remoteAccount,
} from '../../../../core/payments/wallets/remote-account.ts'
import { web3Signer } from '../../../../core/payments/wallets/web3signer.ts'
import { LOCAL_TLS } from './local-tls.ts'
import { type SignerFault, type SignerServer, serveKms, serveWeb3Signer } from './signer-servers.ts'

const KEY = generatePrivateKey()
const { address } = privateKeyToAccount(KEY)
const ELSEWHERE = privateKeyToAccount(generatePrivateKey()).address
const TYPED = {
  domain: { name: 'USD Coin', version: '2', chainId: 8453, verifyingContract: ELSEWHERE },
  types: {
    TransferWithAuthorization: [
      { name: 'from', type: 'address' },
      { name: 'to', type: 'address' },
      { name: 'value', type: 'uint256' },
      { name: 'nonce', type: 'bytes32' },
    ],
  },
  primaryType: 'TransferWithAuthorization',
  message: { from: address, to: ELSEWHERE, value: 20_000n, nonce: `0x${'ab'.repeat(32)}` },
} as const
const TRANSACTION = {
  type: 'eip1559',
  chainId: 8453,
  to: ELSEWHERE,
  data: '0xabcdef',
  gas: 60_000n,
  maxFeePerGas: 2_000_000n,
  maxPriorityFeePerGas: 1_000n,
} as const

const AWS = {
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  AWS_EC2_METADATA_DISABLED: 'true',
}

/** Signers by name, with the local server that each of them asks. */
const SIGNERS: Readonly<
  Record<
    string,
    {
      readonly serve: () => Promise<SignerServer>
      readonly open: (server: SignerServer, timeoutMs: number) => RemoteSigner
    }
  >
> = {
  'Web3Signer over HTTPS': {
    serve: () => serveWeb3Signer(KEY, LOCAL_TLS),
    open: ({ url }, timeoutMs) =>
      web3Signer({ url, timeoutMs, tls: { ca: Buffer.from(LOCAL_TLS.cert) } }),
  },
  'AWS KMS': {
    serve: () => serveKms(KEY),
    open: ({ url }, timeoutMs) => {
      process.env['AWS_ENDPOINT_URL_KMS'] = url
      return awsKmsSigner({ keyId: 'arn:aws:kms:eu-west-1:111122223333:key/one', timeoutMs })
    },
  },
}

for (const [name, { serve, open }] of Object.entries(SIGNERS)) {
  describe(`a wallet of ${name}`, () => {
    let server: SignerServer
    let wallet: LocalAccount
    const environment = { ...process.env }
    before(() => void Object.assign(process.env, AWS))
    after(() => {
      for (const each of [...Object.keys(AWS), 'AWS_ENDPOINT_URL_KMS']) delete process.env[each]
      Object.assign(process.env, environment)
    })
    beforeEach(async () => {
      server = await serve()
      wallet = remoteAccount(address, open(server, 400))
    })
    afterEach(() => server.close())

    it('proves its key', async () => {
      const signer = open(server, 2_000)
      await signer.assertKey(address)
      const refused = await signer.assertKey(ELSEWHERE).then(
        () => 'accepted',
        ({ message }: Error) => message,
      )
      expect(refused).to.include(ELSEWHERE)
    })

    it('signs payments, and the same payment by the same signature', async () => {
      for (const value of [1n, 2n, 3n, 4n]) {
        const data = { ...TYPED, message: { ...TYPED.message, value } }
        const signature = await wallet.signTypedData(data)
        expect(await recoverTypedDataAddress({ ...data, signature })).to.equal(address)
        const s = BigInt(`0x${signature.slice(66, 130)}`)
        expect(s < 2n ** 255n, 'low s').to.equal(true)
        expect(await wallet.signTypedData(data)).to.equal(signature)
      }
      expect(server.calls).to.have.lengthOf(4)
    })

    it('signs transactions without changing them', async () => {
      for (const [nonce, value] of [
        [0, 0n],
        [7, 5n],
        [300, 10n ** 18n],
      ] as const) {
        const raw = await wallet.signTransaction({ ...TRANSACTION, nonce, value })
        const signed = { serializedTransaction: raw as `0x02${string}` }
        expect(await recoverTransactionAddress(signed)).to.equal(address)
        const read = parseTransaction(raw)
        expect(read).to.include({ gas: 60_000n, maxFeePerGas: 2_000_000n, chainId: 8453 })
        expect([read.nonce ?? 0, read.value ?? 0n]).to.deep.equal([nonce, value])
      }
    })

    const faults: readonly SignerFault[] = [
      'slow',
      'refuses',
      'garbage',
      'too long',
      'status 500',
      'hangs up',
      'other key',
      'other payment',
    ]
    for (const fault of faults) {
      it(`A185 gives no signature if the signer fails by: ${fault}`, async () => {
        server.fault = fault
        const failed = (work: Promise<unknown>) =>
          work.then(
            () => 'signed',
            (error: Error) => error.name,
          )
        expect(await failed(wallet.signTypedData(TYPED))).to.equal('SignerUnavailable')
        const transaction = wallet.signTransaction({ ...TRANSACTION, nonce: 1 })
        expect(await failed(transaction)).to.equal('SignerUnavailable')
        server.fault = 'none'
        expect(await wallet.signTypedData(TYPED), 'then works').to.match(/^0x[\da-f]{130}$/)
      })
    }
  })
}

describe('the wallet of a remote signer', () => {
  it('is refused at the start with the reason', async () => {
    const server = await serveWeb3Signer(KEY)
    const open = (wanted: `0x${string}`) =>
      openWallet('GAS_WALLET', { kind: 'web3signer', url: server.url, address: wanted }).then(
        ({ address: opened }) => opened,
        ({ name, message }: Error) => `${name}: ${message}`,
      )
    expect(await open(address)).to.equal(address)
    expect(await open(ELSEWHERE)).to.include('ConfigError: GAS_WALLET_SIGNER cannot be used')
    server.close()
    expect(await open(address)).to.include('ConfigError: GAS_WALLET_SIGNER cannot be used')
  })
})
