import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { USDC_BASE } from '../../../../core/payments/chain/asset.ts'
import { encodeRequest } from '../../../../core/payments/mpp-challenge.ts'
import { choosePayment } from '../../../../core/payments/paying/choose-payment.ts'
import { PaymentTermsError } from '../../../../core/payments/paying/terms-error.ts'
import { signPayment } from '../../../../core/payments/paying/x402-client.ts'

const NOW = new Date('2026-11-28T12:00:00Z')
const PAYEE = '0x00000000000000000000000000000000000000aa'
const entry = {
  scheme: 'exact',
  network: USDC_BASE.network,
  amount: '2000',
  asset: USDC_BASE.address,
  payTo: PAYEE,
  maxTimeoutSeconds: 60,
  extra: { name: USDC_BASE.name, version: USDC_BASE.version },
}
const x402 = (...accepts: object[]) => {
  const text = JSON.stringify({ x402Version: 2, resource: { url: 'https://a.test/' }, accepts })
  return { 'payment-required': Buffer.from(text).toString('base64') }
}
const mpp = (amount: string, realm = 'a.test') => {
  const request = encodeRequest({
    amount,
    currency: USDC_BASE.address,
    recipient: PAYEE,
    methodDetails: { chainId: USDC_BASE.chainId, credentialTypes: ['authorization'] },
  })
  const terms = `method="evm", intent="charge", expires="2026-11-28T12:05:00Z"`
  const challenge = `Payment id="i", realm="${realm}", ${terms}, request="${request}"`
  return { 'www-authenticate': challenge }
}
const POLICY = { host: 'a.test', maxAmount: 3_000n, ownWallets: [] }
const METERED = { buysMetered: true }
const choose = (headers: Record<string, string>, change: object = {}) => {
  const policy = { ...POLICY, ...change }
  try {
    const terms = choosePayment({ headers, body: Buffer.from('') }, policy, NOW)
    const protocol = terms.challenge ? 'mpp' : terms.facilitator ? 'upto' : 'x402'
    return [protocol, terms.amount]
  } catch (error) {
    if (error instanceof PaymentTermsError) return error.reason
    throw error
  }
}

describe('the terms of a 402 with offers of x402 and MPP', () => {
  it('are those of x402 if the hub can pay them', () => {
    expect(choose({ ...x402(entry), ...mpp('1000') })).to.deep.equal(['x402', 2_000n])
  })
  it('are those of MPP without an offer of x402, or with one that the hub cannot pay', () => {
    expect(choose(mpp('1000'))).to.deep.equal(['mpp', 1_000n])
    for (const change of [
      { network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' },
      { scheme: 'upto' },
      { asset: PAYEE },
    ]) {
      const headers = { ...x402({ ...entry, ...change }), ...mpp('1000') }
      expect(choose(headers), JSON.stringify(change)).to.deep.equal(['mpp', 1_000n])
    }
  })
  it('A307 are refused by the reason of x402 where MPP would evade a check', () => {
    const dear = x402({ ...entry, amount: '3001' })
    expect(choose({ ...dear, ...mpp('1000') })).to.equal('above_max')
    const payTo = x402({ ...entry, payTo: USDC_BASE.address })
    expect(choose({ ...payTo, ...mpp('1000') })).to.equal('pay_to')
    expect(choose({ 'payment-required': 'no offer', ...mpp('1000') })).to.equal('malformed_offer')
  })
  it('may be a metered price, by its maximum, if the hub can pay it', () => {
    const extra = { assetTransferMethod: 'permit2', facilitatorAddress: PAYEE }
    const metered = { ...entry, scheme: 'upto', extra }
    expect(choose(x402(metered))).to.equal('scheme')
    expect(choose(x402(metered), METERED)).to.deep.equal(['upto', 2_000n])
    expect(choose(x402({ ...metered, amount: '3001' }), METERED)).to.equal('above_max')
    expect(choose(x402(metered, entry), METERED)).to.deep.equal(['x402', 2_000n])
    expect(choose(x402({ ...metered, amount: '1999' }, entry), METERED)).to.deep.equal([
      'upto',
      1_999n,
    ])
    for (const change of [
      { extra: { assetTransferMethod: 'permit2' } },
      { extra: { facilitatorAddress: PAYEE } },
      { extra: { ...extra, facilitatorAddress: '0x1' } },
    ]) {
      const headers = x402({ ...metered, ...change })
      expect(choose(headers, METERED), JSON.stringify(change)).to.equal('scheme')
    }
  })
  it('are refused by the reason of x402 if neither can be paid on this network', () => {
    const upto = x402({ ...entry, scheme: 'upto' })
    const { 'www-authenticate': challenge } = mpp('1000')
    const abroad = challenge.replace(/request="[^"]*"/, () => {
      const request = { amount: '1000', currency: USDC_BASE.address, recipient: PAYEE }
      return `request="${encodeRequest({ ...request, methodDetails: { chainId: 1 } })}"`
    })
    expect(choose({ ...upto, 'www-authenticate': abroad })).to.equal('scheme')
  })
  it('are not those of a challenge whose credential would replace a header', () => {
    const headers = mpp('1000')
    expect(choose(headers, { hasAuthorization: true })).to.equal('authorization')
    const named = `${headers['www-authenticate']}, header="Payment-Authorization"`
    const choice = choose({ 'www-authenticate': named }, { hasAuthorization: true })
    expect(choice).to.deep.equal(['mpp', 1_000n])
    expect(choose(x402(entry), { hasAuthorization: true })).to.deep.equal(['x402', 2_000n])
  })
  it('are signed no longer than their challenge is valid, whenever they were quoted', async () => {
    const terms = choosePayment({ headers: mpp('1000'), body: Buffer.from('') }, POLICY, NOW)
    const account = privateKeyToAccount(generatePrivateKey())
    const signedAfter = (seconds: number) =>
      signPayment(account, terms, new Date(NOW.getTime() + seconds * 1_000))
    const start = BigInt(NOW.getTime()) / 1_000n
    expect(await signedAfter(0)).to.include({ validBefore: start + 60n })
    expect(await signedAfter(280)).to.include({ validBefore: start + 300n })
    for (const late of [295, 400]) {
      const error = await signedAfter(late).catch((thrown: unknown) => thrown)
      expect(error, String(late)).to.include({ reason: 'timeout' })
    }
  })
  it('are checked for MPP as for x402', () => {
    expect(choose(mpp('3001'))).to.equal('above_max')
    expect(choose(mpp('1000', 'b.test'))).to.equal('resource')
    expect(choose(mpp('-1'))).to.equal('amount')
    expect(choose({ 'www-authenticate': 'Bearer realm="a.test"' })).to.equal('no_offer')
  })
})
