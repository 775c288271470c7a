/** Pages that belong together, with a navigation of their own. */
export interface Area {
  readonly label: string
  readonly pages: Readonly<Record<string, string>>
}

/** What people have here as buyers. */
export const ACCOUNT: Area = {
  label: 'Account',
  pages: {
    Overview: '/account',
    Keys: '/account/keys',
    History: '/account/history',
    Webhooks: '/account/webhooks',
    Wallets: '/account/wallets',
    Sessions: '/account/sessions',
    Selling: '/provider',
  },
}

/** What they have here as sellers. */
export const SELLING: Area = {
  label: 'Selling',
  pages: {
    Overview: '/provider',
    APIs: '/provider/services',
    Domains: '/provider/domains',
    Statistics: '/provider/statistics',
    Payouts: '/provider/payouts',
    Buying: '/account',
  },
}
