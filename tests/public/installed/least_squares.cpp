// The library from C++: a straight line through points by QR, on the CPU backend.
#include <cmath>
#include <cstdio>
#include <vector>

#include <backdrop/backend.h>
#include <backdrop/least_squares.h>

namespace
{

constexpr int rows = 100;

bool fits(bd_backend *backend)
{
    std::vector<float> a(2 * rows), b(rows), x(2);
    for (int i = 0; i < rows; i++) {
        a[i] = 1;
        a[i + rows] = static_cast<float>(i);
        b[i] = 3 - 0.5f * static_cast<float>(i);
    }
    bd_matrix left = bd_matrix_host_view(a.data(), rows, 2, rows);
    bd_matrix right = bd_matrix_host_view(b.data(), rows, 1, rows);
    bd_matrix solution = bd_matrix_host_view(x.data(), 2, 1, 2);
    if (bd_least_squares(backend, &left, &right, &solution) != BD_OK)
        return false;
    return std::fabs(x[0] - 3) < 1e-4f && std::fabs(x[1] + 0.5f) < 1e-5f;
}

} // namespace

int main()
{
    bd_backend *backend = nullptr;
    bool good = bd_backend_open(&backend, "cpu", 1) == BD_OK && fits(backend);
    if (!good)
        std::fprintf(stderr, "least_squares: %s\n", bd_error_detail());
    bd_backend_close(&backend);
    return good ? 0 : 1;
}
