import { useHub } from '../support/suite.ts'
import { paying } from './payments.ts'
import { tell } from './table.ts'

describe('story: top-up', () => {
  const hub = useHub()

  it('buys credits with one transfer that the chain confirms', () =>
    tell(
      hub(),
      `
      ada  joins     with 10.000000        => ada 0.000000  ada.usdc 10.000000
      ada  buys      5.000000              => 201  ada 5.000000  ada.usdc 5.000000  cash 5.000000
      hub  resolves  payments              => treasury 5.000000  transit 0.000000
      ada  buys      6.000000              => 402 payment_invalid  ada 5.000000  ada.usdc 5.000000
      ada  buys      4.999999              => 422 validation_failed
      ada  buys      5.000000              => 201  ada 10.000000  ada.usdc 0.000000  cash 10.000000
      hub  resolves  payments              => treasury 10.000000  transit 0.000000
      `,
      paying(),
    ))

  it('treats the same payment as the same purchase', () =>
    tell(
      hub(),
      `
      ada   joins  with 10.000000
      twin  joins  as ada
      bob   joins
      ada   signs  for credits 5.000000
      ada   sends  ada for credits 5.000000     => 201 settled  ada 5.000000  ada.usdc 5.000000
      ada   sends  ada for credits 5.000000     => 201 settled  ada 5.000000  ada.usdc 5.000000
      ada   sends  ada for credits 6.000000     => 402 payment_replayed  ada 5.000000
      twin  sends  ada for credits 5.000000     => 402 payment_replayed  twin 0.000000
      bob   sends  ada for credits 5.000000     => 402 payment_replayed  bob 0.000000
      bob   sends  ada for echo/say             => 402 payment_replayed  bob 0.000000
      ada   sends  ada for credits 5.000000 ∥9  => 201 settled ×9  ada 5.000000  ada.usdc 5.000000
      `,
      paying(),
    ))

  it('makes one purchase of a payment sent twice at once', () =>
    tell(
      hub(),
      `
      ada   joins  with 10.000000
      ada   signs  for credits 5.000000
      ada   sends  ada for credits 5.000000 ∥2  => 201 settled  202 pending  ada 5.000000
      ada   sends  ada for credits 5.000000     => 201 settled  ada 5.000000  ada.usdc 5.000000
      `,
      paying(),
    ))

  it('buys nothing with a wrong signature, however often it is sent', () =>
    tell(
      hub(),
      `
      ada   joins   with 10.000000
      ada   signs   for credits 5.000000
      ada   spoils  her payment
      ada   sends   ada for credits 5.000000      => 402 payment_invalid  ada 0.000000
      ada   sends   ada for credits 5.000000      => 402 payment_invalid  ada.usdc 10.000000
      `,
      paying(),
    ))
})
