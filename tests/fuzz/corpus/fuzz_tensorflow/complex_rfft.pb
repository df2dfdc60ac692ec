
2
aPlaceholder*
shape
:*
dtype0
=
RFFT/fft_lengthConst*
valueB:*
dtype0
=
RFFTRFFTaRFFT/fft_length*
Tcomplex0*
Treal0
*
y
ComplexAbsRFFT*
T0*

Tout0"ª