/** A request as inspected by the web ACL. */
export interface InspectedRequest {
  method: string
  path: string
  /** Without its question mark, percent-encoded. */
  query: string
  headers: Record<string, string>
  body: string
}

interface ManagedRule {
  name: string
  matches(request: InspectedRequest): boolean
}

const decoded = (text: string) => decodeURIComponent(text.replaceAll('+', ' ')).toLowerCase()
const argumentsOf = ({ query }: InspectedRequest) =>
  [...new URLSearchParams(query).values()].map(decodedSafely)
const cookieOf = ({ headers }: InspectedRequest) => headers.cookie ?? ''

function decodedSafely(text: string): string {
  try {
    return decoded(text)
  } catch {
    return text.toLowerCase()
  }
}

const script = /<\s*script|javascript:|on(error|load)\s*=/
const localFile = /\.\.[/\\]|\/etc\/passwd/
const remoteFile = /:\/\/\d+\.\d+\.\d+\.\d+/
const restrictedExtension = /\.(log|ini|bak|cfg|dat|config)$/
const metadata = /169\.254\.169\.254|fd00:ec2::254/

/**
 * The rules of AWSManagedRulesCommonRuleSet as the page 'Baseline rule groups' of the AWS WAF Developer Guide describes
 * them. AWS does not publish the patterns; these are at least as strict for the strings that the page names.
 */
export const commonRules: readonly ManagedRule[] = [
  { name: 'NoUserAgent_HEADER', matches: ({ headers }) => !headers['user-agent'] },
  {
    name: 'UserAgent_BadBots_HEADER',
    matches: ({ headers }) => /nessus|nmap/i.test(headers['user-agent'] ?? ''),
  },
  { name: 'SizeRestrictions_QUERYSTRING', matches: ({ query }) => Buffer.byteLength(query) > 2048 },
  {
    name: 'SizeRestrictions_Cookie_HEADER',
    matches: (request) => Buffer.byteLength(cookieOf(request)) > 10_240,
  },
  { name: 'SizeRestrictions_BODY', matches: ({ body }) => Buffer.byteLength(body) > 8192 },
  { name: 'SizeRestrictions_URIPATH', matches: ({ path }) => Buffer.byteLength(path) > 1024 },
  { name: 'EC2MetaDataSSRF_BODY', matches: ({ body }) => metadata.test(body) },
  { name: 'EC2MetaDataSSRF_COOKIE', matches: (request) => metadata.test(cookieOf(request)) },
  { name: 'EC2MetaDataSSRF_URIPATH', matches: ({ path }) => metadata.test(path) },
  {
    name: 'EC2MetaDataSSRF_QUERYARGUMENTS',
    matches: (request) => argumentsOf(request).some((one) => metadata.test(one)),
  },
  {
    name: 'GenericLFI_QUERYARGUMENTS',
    matches: (request) => argumentsOf(request).some((one) => localFile.test(one)),
  },
  { name: 'GenericLFI_URIPATH', matches: ({ path }) => localFile.test(path) },
  { name: 'GenericLFI_BODY', matches: ({ body }) => localFile.test(body) },
  { name: 'RestrictedExtensions_URIPATH', matches: ({ path }) => restrictedExtension.test(path) },
  {
    name: 'RestrictedExtensions_QUERYARGUMENTS',
    matches: (request) => argumentsOf(request).some((one) => restrictedExtension.test(one)),
  },
  {
    name: 'GenericRFI_QUERYARGUMENTS',
    matches: (request) => argumentsOf(request).some((one) => remoteFile.test(one)),
  },
  { name: 'GenericRFI_BODY', matches: ({ body }) => remoteFile.test(body) },
  { name: 'GenericRFI_URIPATH', matches: ({ path }) => remoteFile.test(path) },
  { name: 'CrossSiteScripting_COOKIE', matches: (request) => script.test(cookieOf(request)) },
  {
    name: 'CrossSiteScripting_QUERYARGUMENTS',
    matches: (request) => argumentsOf(request).some((one) => script.test(one)),
  },
  { name: 'CrossSiteScripting_BODY', matches: ({ body }) => script.test(body.toLowerCase()) },
  { name: 'CrossSiteScripting_URIPATH', matches: ({ path }) => script.test(path) },
]
