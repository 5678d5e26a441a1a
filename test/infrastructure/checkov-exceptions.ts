import type { Finding } from './checkov.ts'

/** A failed check with the reason. It covers every resource unless it names some. */
interface Exception {
  check: string
  reason: string
  /** The start of the template's name: a stage. */
  stage?: string
  /** The end of the resource's type and logical id before its hash. */
  resource?: string
}

const ownKeyReason =
  'The stage dev holds test data, which AWS encrypts with its own keys; staging and prod have a customer managed key.'

export const exceptions: readonly Exception[] = [
  {
    check: 'CKV_AWS_115',
    reason:
      'Most functions behind the gateway share the concurrency that the account has left: the gateway throttles them. On staging and prod, consumers, steps of imports and the functions that call partners or work for seconds have reserved concurrency, so they never take that share.',
  },
  {
    check: 'CKV_AWS_116',
    reason:
      'A failure of a synchronous call reaches its caller. Consumers have dead-letter queues at the queue or the stream they read, schedules run again after a minute, and the workflow retries its steps.',
  },
  {
    check: 'CKV_AWS_117',
    reason:
      'The functions use only services of AWS and public addresses over TLS, authorized by IAM. A separate network would add cost and failures, and protect nothing.',
  },
  {
    check: 'CKV_AWS_173',
    reason:
      'The variables hold names and ARNs, not secrets: those are in Secrets Manager. Lambda encrypts the variables with a key of AWS.',
  },
  {
    check: 'CKV_AWS_120',
    reason: 'Responses depend on the caller and must be current: a cache would serve stale or foreign data.',
  },
  {
    check: 'CKV_AWS_59',
    reason:
      'The functions verify the bearer token, session or signature of every request themselves; health and preflight need none.',
  },
  {
    check: 'CKV_AWS_18',
    reason:
      'Files live for a day and are read through links that expire after minutes. The audit records who exported and imported.',
  },
  {
    check: 'CKV_AWS_21',
    reason: 'Files expire after a day: old versions would keep personal data longer than promised.',
  },
  {
    check: 'CKV_AWS_192',
    resource: 'AWS::WAFv2::WebACL.UsersWebAcl',
    reason:
      'This web ACL limits requests to the endpoints of Cognito, which AWS operates. The one before the gateway has the rule.',
  },
  { check: 'CKV_AWS_119', stage: 'dev', reason: ownKeyReason },
  { check: 'CKV_AWS_149', stage: 'dev', reason: ownKeyReason },
  { check: 'CKV_AWS_158', stage: 'dev', reason: ownKeyReason },
  { check: 'CKV_AWS_27', stage: 'dev', reason: ownKeyReason },
]

export function excepts({ check, stage, resource }: Exception, finding: Finding): boolean {
  return (
    finding.check === check &&
    (stage === undefined || finding.template.startsWith(`${stage}-`)) &&
    (resource === undefined || finding.resource.replace(/[0-9A-F]{8}$/, '') === resource)
  )
}
