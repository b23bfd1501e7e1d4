#include "app/bench/gram_tables.h"

static const struct bd_published_method two[] = {
    { "CholQR", BD_GRAM_QR_CHOLESKY, BD_TRIANGULAR_SUBSTITUTION, false },
    { "SVQR", BD_GRAM_QR_SVD, BD_TRIANGULAR_SUBSTITUTION, false },
};

static const struct bd_published_method three[] = {
    { "d-CholQR", BD_GRAM_QR_CHOLESKY, BD_TRIANGULAR_SUBSTITUTION, false },
    { "d-SVQR", BD_GRAM_QR_SVD, BD_TRIANGULAR_SUBSTITUTION, false },
    { "ds-SVQR", BD_GRAM_QR_SVD, BD_TRIANGULAR_SUBSTITUTION, true },
};

static const struct bd_published_method five[] = {
    { "d-substitution", BD_GRAM_QR_SVD, BD_TRIANGULAR_SUBSTITUTION, false },
    { "d-inversion", BD_GRAM_QR_SVD, BD_TRIANGULAR_INVERSION, false },
    { "ds-substitution", BD_GRAM_QR_SVD, BD_TRIANGULAR_SUBSTITUTION, true },
    { "ds-inversion", BD_GRAM_QR_SVD, BD_TRIANGULAR_INVERSION, true },
    { "ds-adaptive", BD_GRAM_QR_SVD, BD_TRIANGULAR_ADAPTIVE, true },
};

/* clang-format off */
const struct bd_published_figure bd_published_figures[] = {
    { 2, BD_PUBLISHED_DEPENDENT, two, 2, 0, 6,
      { { { 3.9e3, 4.8e16, "" }, { 3.9e3, 4.8e16, "" } },
        { { 5.8e2, 1.4e16, "f" }, { 1.0e0, 6.8e8, "t" } },
        { { 2.8e2, 7.1e15, "f" }, { 6.7e-13, 1.0e0, "" } },
        { { 1.9e2, 6.6e15, "f" }, { 5.9e-15, 1.0e0, "" } },
        { { 1.5e2, 5.4e15, "" }, { 3.0e-15, 1.0e0, "" } },
        { { 1.0e0, 2.3e7, "" }, { 2.8e-15, 1.0e0, "" } },
        { { 4.7e-16, 1.0e0, "" }, { 2.1e-15, 1.0e0, "" } } } },
    { 12, BD_PUBLISHED_KRYLOV, three, 3, 0, 5,
      { { { 1.4e12, 1.0e19, "" }, { 1.4e12, 1.0e19, "" }, { 1.4e12, 1.0e19, "" } },
        { { 2.8e8, 7.3e17, "f" }, { 1.0e0, 2.1e9, "t" }, { 2.5e0, 2.0e1, "t+" } },
        { { 1.4e2, 3.8e13, "f" }, { 1.0e0, 2.9e1, "t" }, { 1.4e-13, 1.0e0, "" } },
        { { 1.0e0, 1.1e7, "f" }, { 3.0e-13, 1.0e0, "" }, { 2.3e-14, 1.0e0, "" } },
        { { 2.1e-12, 1.0e0, "" }, { 2.2e-14, 1.0e0, "" }, { 2.5e-14, 1.0e0, "" } },
        { { 2.0e-14, 1.0e0, "" }, { 3.3e-14, 1.0e0, "" }, { 1.8e-14, 1.0e0, "" } } } },
    { 13, BD_PUBLISHED_HILBERT, three, 3, 0, 7,
      { { { 3.8e0, 3.3e19, "" }, { 3.8e0, 3.3e19, "" }, { 3.8e0, 3.3e19, "" } },
        { { 1.0e0, 4.0e18, "f" }, { 1.0e0, 2.1e12, "t" }, { 1.4e0, 1.2e3, "t+" } },
        { { 1.0e0, 1.4e18, "f" }, { 1.0e0, 4.5e4, "t" }, { 8.3e-11, 1.0e0, "" } },
        { { 1.5e0, 1.1e18, "f" }, { 1.6e-7, 1.0e0, "" }, { 1.4e-14, 1.0e0, "" } },
        { { 3.8e0, 1.6e18, "f" }, { 1.2e-14, 1.0e0, "" }, { 1.0e-14, 1.0e0, "" } },
        { { 4.5e-4, 1.0e0, "" }, { 8.2e-15, 1.0e0, "" }, { 9.5e-15, 1.0e0, "" } },
        { { 1.4e-15, 1.0e0, "" }, { 8.6e-15, 1.0e0, "" }, { 9.6e-15, 1.0e0, "" } },
        { { 1.0e-15, 1.0e0, "" }, { 9.2e-15, 1.0e0, "" }, { 9.6e-15, 1.0e0, "" } } } },
    { 14, BD_PUBLISHED_SYNTHETIC, three, 3, 0, 5,
      { { { 9.9e1, 2.9e18, "" }, { 9.9e1, 2.9e18, "" }, { 9.9e1, 2.9e18, "" } },
        { { 1.0e0, 2.9e17, "f" }, { 1.0e0, 4.4e10, "t" }, { 1.0e0, 4.4e10, "t+" } },
        { { 6.5e-15, 1.0e0, "" }, { 2.8e-8, 1.0e0, "" }, { 1.0e-13, 1.0e0, "" } },
        { { 5.4e-16, 1.0e0, "" }, { 1.6e-14, 1.0e0, "" }, { 1.1e-14, 1.0e0, "" } },
        { { 4.4e-16, 1.0e0, "" }, { 9.8e-15, 1.0e0, "" }, { 8.9e-15, 1.0e0, "" } },
        { { 4.4e-16, 1.0e0, "" }, { 9.3e-15, 1.0e0, "" }, { 8.4e-15, 1.0e0, "" } } } },
    { 15, BD_PUBLISHED_KRYLOV, five, 5, 1, 5,
      { { { 1.0e0, 0, "t" }, { 1.0e0, 0, "t" }, { 2.5e2, 0, "t+" },
          { 2.4e0, 0, "t+" }, { 1.8e0, 0, "t+" } },
        { { 1.0e0, 0, "t" }, { 1.0e0, 0, "t" }, { 1.4e-13, 0, "" },
          { 5.6e-12, 0, "" }, { 3.3e-13, 0, "" } },
        { { 3.0e-13, 0, "" }, { 1.4e-12, 0, "" }, { 2.3e-14, 0, "" },
          { 2.1e-14, 0, "" }, { 1.9e-14, 0, "" } },
        { { 2.2e-14, 0, "" }, { 2.1e-14, 0, "" }, { 2.1e-14, 0, "" },
          { 2.1e-14, 0, "" }, { 2.1e-14, 0, "" } },
        { { 3.3e-14, 0, "" }, { 3.3e-14, 0, "" }, { 1.8e-14, 0, "" },
          { 1.9e-14, 0, "" }, { 1.6e-14, 0, "" } } } },
    { 16, BD_PUBLISHED_HILBERT, five, 5, 1, 5,
      { { { 1.0e0, 0, "t" }, { 1.0e0, 0, "t" }, { 1.4e0, 0, "t+" },
          { 2.9e0, 0, "t+" }, { 2.9e0, 0, "t+" } },
        { { 1.0e0, 0, "t" }, { 1.4e0, 0, "t" }, { 8.3e-11, 0, "" },
          { 1.2e-10, 0, "+" }, { 7.5e-10, 0, "" } },
        { { 1.6e-6, 0, "" }, { 2.7e-7, 0, "" }, { 1.4e-14, 0, "" },
          { 1.3e-14, 0, "" }, { 1.5e-14, 0, "" } },
        { { 1.2e-14, 0, "" }, { 2.1e-14, 0, "" }, { 1.0e-14, 0, "" },
          { 9.0e-15, 0, "" }, { 1.1e-14, 0, "" } },
        { { 8.2e-15, 0, "" }, { 9.9e-15, 0, "" }, { 9.5e-15, 0, "" },
          { 9.3e-15, 0, "" }, { 9.8e-15, 0, "" } } } },
    { 17, BD_PUBLISHED_SYNTHETIC, five, 5, 1, 4,
      { { { 1.0e0, 0, "t" }, { 1.0e0, 0, "t" }, { 1.0e0, 0, "t+" },
          { 6.3e2, 0, "t+" }, { 1.0e0, 0, "t+" } },
        { { 2.8e-8, 0, "" }, { 2.8e-8, 0, "" }, { 1.0e-13, 0, "" },
          { 4.2e1, 0, "t+" }, { 1.5e-13, 0, "" } },
        { { 1.6e-14, 0, "" }, { 1.5e-14, 0, "" }, { 1.8e-6, 0, "" },
          { 1.8e-6, 0, "" }, { 9.0e-15, 0, "" } },
        { { 9.8e-15, 0, "" }, { 9.5e-15, 0, "" }, { 8.9e-15, 0, "" },
          { 2.3e-14, 0, "" }, { 9.2e-15, 0, "" } } } },
};
/* clang-format on */
const int bd_published_figure_count = sizeof bd_published_figures / sizeof *bd_published_figures;

const struct bd_published_backward bd_published_backwards[] = {
    { BD_PUBLISHED_KRYLOV, { 2.5e-10, 3.4e-3, 7.2e-2, 1.5e4, 6.5e-2 } },
    { BD_PUBLISHED_HILBERT, { 1.2e-16, 2.4e-11, 9.1e-8, 2.6e-3, 1.5e-7 } },
    { BD_PUBLISHED_SYNTHETIC, { 3.2e-15, 3.5e-15, 1.2e-13, 3.7e-6, 1.2e-13 } },
};
const int bd_published_backward_count =
    sizeof bd_published_backwards / sizeof *bd_published_backwards;
