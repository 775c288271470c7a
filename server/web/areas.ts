/** Pages that belong together, with a navigation of their own. */
export interface Area {
  readonly label: string
  readonly pages: Readonly<Record<string, string>>
}

/** What is written for people about the hub. */
export const DOCS: Area = {
  label: 'Docs',
  pages: {
    'API reference': '/docs',
    'For agents': '/docs/agents',
    'For providers': '/docs/providers',
    'For finance': '/docs/finance',
    Webhooks: '/docs/webhooks',
    'Error codes': '/docs/problems',
  },
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

/** What people of finance see and decide. */
export const FINANCE: Area = {
  label: 'Finance',
  pages: {
    Overview: '/finance',
    'Trial balance': '/finance/trial-balance',
    Journal: '/finance/journal',
    Adjustments: '/finance/adjustments',
    Transfers: '/finance/transfers',
    Exceptions: '/finance/exceptions',
    Payments: '/finance/payments',
    Periods: '/finance/periods',
    Exports: '/finance/exports',
    'Audit log': '/finance/audit',
    Administration: '/admin',
  },
}

/** What administrators decide besides. */
export const ADMIN: Area = {
  label: 'Administration',
  pages: {
    Services: '/admin',
    Keys: '/admin/keys',
    Roles: '/admin/roles',
    'Audit log': '/finance/audit',
    Finance: '/finance',
  },
}
