import type { Problem } from './api.ts';

/** Consentry refused a call, or gave an answer that is none. Decide by `code`. Holds no token and nothing of a body. */
export class ConsentryError extends Error {
  /** The HTTP status. */
  readonly status: number;
  /** The kind of problem as a word that stays the same, such as `provider_unavailable`. */
  readonly code: string;
  /** Seconds after which to try again, where the server says so. */
  readonly retryAfter: number | undefined;
  /** The problem as the server wrote it (RFC 9457), where it did. */
  readonly problem: Problem | undefined;

  constructor(status: number, problem?: Problem, retryAfter?: number) {
    super(problem ? `${problem.title} (${problem.code}, ${status}, request ${problem.request_id})` : `Consentry answered with status ${status}`);
    this.name = 'ConsentryError';
    this.status = status;
    this.code = problem?.code ?? 'unreadable';
    this.retryAfter = retryAfter;
    this.problem = problem;
  }

  /** Whether it will pass by itself. */
  get passes(): boolean {
    return this.status === 408 || this.status === 429 || this.status >= 500;
  }

  static async of(response: Response): Promise<ConsentryError> {
    const body: unknown = await response.json().catch(() => undefined);
    const problem = typeof body === 'object' && body !== null && 'code' in body ? (body as Problem) : undefined;
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
    return new ConsentryError(response.status, problem, Number.isFinite(retryAfter) ? retryAfter : undefined);
  }
}
